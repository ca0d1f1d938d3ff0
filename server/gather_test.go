package server

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// Subscriptions that a client sends together are replayed together.
func TestSubscriptionsThatComeTogetherAreGathered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &socket{asks: make(chan subscriptionCommand, maxSubscriptions)}
		s.asks <- subscriptionCommand{id: "2"}
		time.AfterFunc(gatherTime/2, func() { s.asks <- subscriptionCommand{id: "3"} })
		time.AfterFunc(2*gatherTime, func() { s.asks <- subscriptionCommand{id: "4"} })
		var ids []string
		for _, ask := range s.gather(subscriptionCommand{id: "1"}) {
			ids = append(ids, ask.id)
		}
		assert.Equal(t, []string{"1", "2", "3"}, ids)
		assert.Equal(t, "4", (<-s.asks).id)
	})
}
