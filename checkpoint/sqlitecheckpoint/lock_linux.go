package sqlitecheckpoint

// setOFDLock is the fcntl command F_OFD_SETLK.
const setOFDLock = 37
