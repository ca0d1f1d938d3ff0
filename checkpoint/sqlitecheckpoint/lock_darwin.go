package sqlitecheckpoint

// setOFDLock is F_OFD_SETLK.
const setOFDLock = 90
