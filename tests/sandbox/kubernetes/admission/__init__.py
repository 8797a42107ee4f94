"""Stand-ins for the controllers: each reacts to changes, a moment of virtual time later."""
