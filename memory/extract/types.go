package extract

import "github.com/weft-go/weft/memory/driver"

type (
	// Job is a turn in a queue.
	Job = driver.Turn
	// Parked is a job that was given up, with its last error.
	Parked = driver.ParkedTurn
	// Counts has the number of jobs that wait or are claimed, and of parked jobs.
	Counts = driver.TurnCounts
)
