package jsonform_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/jsonform"
)

func TestTimesDoNotDependOnTheLocationOfTheProcess(t *testing.T) { // not parallel: it sets time.Local
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	before := time.Local
	t.Cleanup(func() { time.Local = before })
	time.Local = berlin // encoding/json uses this location for times with its offset

	type event struct{ At time.Time }
	at := time.Date(2026, 1, 10, 9, 0, 0, 0, berlin)
	codec, clone := jsonform.New[event](), jsonform.Cloner[event]()
	put := clone(event{at})
	data, err := codec.EncodeList([]event{put})
	require.NoError(t, err)
	list, err := codec.DecodeList(data)
	require.NoError(t, err)
	one, err := codec.Decode(data[1 : len(data)-1])
	require.NoError(t, err)
	for how, got := range map[string]time.Time{"put": put.At, "read": one.At, "read in a list": list[0].At} {
		assert.True(t, got.Equal(at), how)
		assert.Empty(t, got.Location().String(), "%s: the location", how)
		assert.Equal(t, "2026-07-10T09:00:00+01:00", got.AddDate(0, 6, 0).Format(time.RFC3339), "%s: without daylight saving time", how)
	}
}

func TestTimesInTypesWithMarshalJSONDoNotChange(t *testing.T) {
	t.Parallel()
	assert.Nil(t, jsonform.Cloner[ownForm](), "values of the type need no copier")
}

type ownForm struct{ At time.Time }

func (o ownForm) MarshalJSON() ([]byte, error)     { return o.At.MarshalJSON() }
func (o *ownForm) UnmarshalJSON(data []byte) error { return o.At.UnmarshalJSON(data) }
