// Package studio keeps what the platform does for its users: which conversations they have,
// quotes, orders and 3D scenes. Nothing of it happens twice for one key, which is how a
// call that is made again after a crash does no harm.
package studio
