"""Small games of numbers and cards: NumberLine, EZPoints, Points24 and Blackjack."""
