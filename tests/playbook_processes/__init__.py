"""Runs of ansible-playbook, each a process of its own that starts in a tenth of the usual time.

An ansible-playbook that starts imports itself and the clients, for a second and a half of a core. Tests start it some
hundred times. So a process that has imported all of it (`prepared`) is forked for each run (`process`).
"""
