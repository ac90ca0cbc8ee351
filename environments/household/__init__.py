"""Generated houses: household tasks without any data, on the ALFWorld simulator."""
