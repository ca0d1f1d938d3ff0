package checkpoint

import "sync"

// maxKnown is the number of checkpoints in one generation of knownDigests.
const maxKnown = 4096

// knownDigests remembers the digests of checkpoints that were read or written lately,
// so that Put need not read the parent. A forgotten one costs a read.
type knownDigests struct {
	mu           sync.Mutex
	young, older map[Key]digest
}

func (k *knownDigests) find(key Key) (digest, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d, ok := k.young[key]
	if !ok {
		d, ok = k.older[key]
	}
	return d, ok
}

// add remembers a checkpoint and forgets its parent, which few others will follow.
func (k *knownDigests) add(key Key, d digest, parent string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.young == nil || len(k.young) >= maxKnown {
		k.young, k.older = map[Key]digest{}, k.young
	}
	k.young[key] = d
	if parent != "" {
		delete(k.young, Key{Thread: key.Thread, Namespace: key.Namespace, ID: parent})
	}
}
