// Package studio stores the conversations, quotes, orders and 3D scenes of the platform's users.
// It stores one quote, order or scene for a key, so a call that is repeated after a crash does not
// make a second one.
package studio
