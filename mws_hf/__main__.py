"""`python -m mws_hf`: the `mws` command where no script directory is on the path."""

from mws_hf.commands.entry import main

if __name__ == "__main__":
    main()
