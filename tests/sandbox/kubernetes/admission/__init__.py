"""Admission: the plugins that fill in or refuse an object before it is stored."""
