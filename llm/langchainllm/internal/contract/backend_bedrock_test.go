package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/bedrock"
)

func openBedrock(t *testing.T, url string, client *http.Client) llms.Model {
	t.Helper()
	m, err := bedrock.New(bedrock.WithModel("anthropic.claude-sonnet-4-5"), bedrock.WithClient(bedrockruntime.New(bedrockruntime.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String(url), HTTPClient: client, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})))
	require.NoError(t, err)
	return m
}

func sayBedrock(s said) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "invoke-with-response-stream") {
			jsonBody(toJSON(anthropicReply(s)))(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		encoder := eventstream.NewEncoder()
		for _, event := range anthropicEvents(s) {
			if err := encoder.Encode(w, bedrockEvent(event)); err != nil {
				return // the client has left
			}
		}
	}
}

func bedrockEvent(event string) eventstream.Message {
	var headers eventstream.Headers
	headers.Set(":message-type", eventstream.StringValue("event"))
	headers.Set(":event-type", eventstream.StringValue("chunk"))
	headers.Set(":content-type", eventstream.StringValue("application/json"))
	return eventstream.Message{Headers: headers, Payload: []byte(toJSON(object{"bytes": []byte(event)}))}
}
