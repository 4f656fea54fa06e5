"""Every example of the reference guide and of the course chapter, as this project runs it."""
