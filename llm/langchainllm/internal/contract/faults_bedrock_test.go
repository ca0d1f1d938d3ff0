package contract_test

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
)

// cutShort is a reply that reached its limit.
var cutShort = said{texts: []string{"Once"}, stop: "length", in: 10, out: 4}

var bedrockFaults = []fault{
	{
		name: "11 a stream loses its calls", backend: "bedrock",
		answers: []http.HandlerFunc{sayBedrock(say("Let me.").calling(saidCall{"a", "add", `{"a":1}`}))},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			return unless(`add{"a":1}`, libraryCalls(ctx, m))
		},
		ours: wantCalls(`add{"a":1}`),
	},
	{
		name: "11 a reply that reached its limit is an error", backend: "bedrock",
		answers: []http.HandlerFunc{sayBedrock(cutShort)},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			_, err := m.GenerateContent(ctx, human)
			return errorText(err)
		},
		ours: func(t *testing.T, m llm.Model, _ *fake) {
			h := must(t, m, hello)
			assert.Equal(t, "Once", h.text())
			assert.Equal(t, llm.StopLength, h.message.StopReason)
			// With tools, the reply is not streamed. The library loses its text but
			// not its stop reason.
			h = ask(t, m, withTools(hello))
			assert.ErrorIs(t, h.err, llm.ErrEmpty)
			assert.Equal(t, llm.StopLength, h.chunks[len(h.chunks)-1].StopReason)
		},
	},
}

// malformedFrame returns a frame of AWS's event stream, with valid checksums, whose header has a
// value of an unknown type.
func malformedFrame() []byte {
	header := append([]byte{3}, "foo\xff"...)
	const prelude, checksum = 8, 4
	frame := binary.BigEndian.AppendUint32(nil, uint32(prelude+checksum+len(header)+checksum))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(header)))
	frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
	frame = append(frame, header...)
	return binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
}

// TestMalformedFrameIsAnError proves that a malformed frame is an error. The decoder runs on a
// goroutine of the AWS SDK, where a panic would end the program.
func TestMalformedFrameIsAnError(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		write(w, string(malformedFrame()))
	})
	h := ask(t, backendOf("bedrock").model(t, f), hello)
	require.Error(t, h.err)
	assert.Empty(t, h.text())
}
