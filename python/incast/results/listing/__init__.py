"""Listings of results: their content, and the forms that it takes."""
