package sqlitecheckpoint

// Keys of checkpoints hold the key of their thread and a number.
const numberBits = 32

// firstKey and endKey enclose the keys of a thread's checkpoints: the first is
// not given to any, nor is the end.
func firstKey(thread int64) int64 { return thread << numberBits }

func endKey(thread int64) int64 { return (thread + 1) << numberBits }

func threadOf(key int64) int64 { return key >> numberBits }

func numberOf(key int64) int64 { return key & (1<<numberBits - 1) }

// parentKey reads the column parent, which is 0 for a checkpoint without one.
func parentKey(key, back int64) int64 {
	if back == 0 {
		return 0
	}
	return key - back
}

func parentBack(key, parent int64) int64 {
	if parent == 0 {
		return 0
	}
	return key - parent
}
