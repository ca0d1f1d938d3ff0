package extract

import "github.com/weft-go/weft/memory/driver"

// The types that a [Learner] shares with its queue. Package driver documents them.
type (
	Job    = driver.Turn
	Parked = driver.ParkedTurn
	Counts = driver.TurnCounts
)
