"""`python -m mws_hf`: the `mws` command, for environments whose scripts are not on the PATH."""

from mws_hf.commands.entry import main

if __name__ == "__main__":
    main()
