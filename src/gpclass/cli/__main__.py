"""``python -m gpclass.cli``"""

from . import main

main()
