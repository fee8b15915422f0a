"""The rival systems, trained from the same word counts; none of them is used by MwS itself."""
