"""WebShop: shopping by an instruction, the whole site in this process."""
