package extract

import "github.com/weft-go/weft/memory/driver"

// Job that a [Learner] shares with its queue. Package driver documents them.
type (
	Job    = driver.Turn
	Parked = driver.ParkedTurn
	Counts = driver.TurnCounts
)
