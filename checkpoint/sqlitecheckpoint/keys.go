package sqlitecheckpoint

// The key of a checkpoint is the key of its thread followed by its number, which
// counts the checkpoints of the thread from 1 in the order of their commits.
const numberBits = 32

// firstKey and endKey enclose the keys of a thread's checkpoints. They are not keys of
// checkpoints themselves.
func firstKey(thread int64) int64 { return thread << numberBits }

func endKey(thread int64) int64 { return (thread + 1) << numberBits }

func threadOf(key int64) int64 { return key >> numberBits }

func numberOf(key int64) int64 { return key & (1<<numberBits - 1) }

// parentKey decodes the column parent, which is 0 for a checkpoint without a
// parent.
func parentKey(key, back int64) int64 {
	if back == 0 {
		return 0
	}
	return key - back
}

// parentBack encodes the column parent, which is the distance from the parent's key.
func parentBack(key, parent int64) int64 {
	if parent == 0 {
		return 0
	}
	return key - parent
}
