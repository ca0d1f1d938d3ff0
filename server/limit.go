package server

import (
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits bounds the resources that clients can use. Zero means the default of a field, and a negative number means no
// limit. The limits of a user apply only with [Options.Auth].
type Limits struct {
	// Headers is the number of header fields of a request, 100 by default, and HeaderBytes their
	// size, 64 KiB by default. The path with its query may have 8 KiB.
	Headers, HeaderBytes int
	// ReadTime is the time in which a client must send the body of a request: a minute by default.
	ReadTime time.Duration
	// WriteTime is the time in which a client must take each 64 KiB of a response, and each event of a stream: 30 s by
	// default.
	WriteTime time.Duration
	// Streams is the number of requests that may stay open at the same time: event streams, and requests that wait for
	// the result of a run, in any protocol. It is 4,096 by default. UserStreams is this number for one user: 100 by
	// default.
	Streams, UserStreams int
	// Requests is the number of requests of a user in a second, on average: 100 by default. A burst may have twice as
	// many.
	Requests float64
	// UserRuns is the number of runs of a user that wait or are executed at the same time: 100 by default.
	UserRuns int
	// QueuedRuns is the number of runs that wait for their turn: 10,000 by default. More are refused with status 503.
	// With an [Options.Queue], the limit is for all servers that share the queue. The queue counts threads with runs, and
	// delayed runs, once a second.
	QueuedRuns int
	// ThreadRuns is the number of runs of a thread that wait or are executed at the same time: 1000 by default. More
	// are refused with status 503.
	ThreadRuns int
	// Bytes is the size of the large requests that this server handles at the same time: their bodies, until the runs
	// that they start are stored, and the runs that wait in this process or are executed. More are refused with status
	// 503. A large request has more than 64 KiB. Large runs are executed at the same time up to half of Bytes, and the
	// others wait. A run larger than this half is executed without other large ones. Bytes is 64 MiB by default: for a
	// moment, a run needs about twenty times the size of its request, or of the state of its thread. UserBytes is the
	// same limit for one user, 32 MiB by default. More are refused with status 429. A request may exceed Bytes if the
	// server has no other large one, and UserBytes if its user has no other large one.
	Bytes, UserBytes int64
	// UserThreads is the number of threads that a user may own. By default there is no limit. The limit does not refuse
	// temporary threads, which are deleted with their only run. It counts them while they exist.
	UserThreads int
}

const maxPath = 8 << 10

func (l *Limits) setDefaults() {
	for _, f := range []struct {
		value     *int
		otherwise int
	}{
		{&l.Headers, 100},
		{&l.HeaderBytes, 64 << 10},
		{&l.Streams, 4096},
		{&l.UserStreams, 100},
		{&l.UserRuns, 100},
		{&l.QueuedRuns, 10_000},
		{&l.ThreadRuns, 1000},
		{&l.UserThreads, math.MaxInt},
	} {
		if *f.value == 0 {
			*f.value = f.otherwise
		} else if *f.value < 0 {
			*f.value = math.MaxInt
		}
	}
	for _, f := range []struct {
		value     *int64
		otherwise int64
	}{{&l.Bytes, 64 << 20}, {&l.UserBytes, 32 << 20}} {
		if *f.value == 0 {
			*f.value = f.otherwise
		} else if *f.value < 0 {
			*f.value = math.MaxInt64
		}
	}
	if l.Requests == 0 {
		l.Requests = 100
	} else if l.Requests < 0 {
		l.Requests = float64(rate.Inf)
	}
	for t, otherwise := range map[*time.Duration]time.Duration{&l.ReadTime: time.Minute, &l.WriteTime: 30 * time.Second} {
		if *t == 0 {
			*t = otherwise
		}
	}
}

// executed returns the largest total size of the large runs that are executed at the same time.
func (l *Limits) executed() int64 { return max(l.Bytes/2, 1) }

// checkHead refuses a request whose path or header is too large.
func (l *Limits) checkHead(r *http.Request) error {
	if len(r.RequestURI) > maxPath {
		return refuse(http.StatusRequestURITooLong, "The path and the query have more than %d bytes.", maxPath)
	}
	fields, size := 0, 0
	for name, values := range r.Header {
		fields += len(values)
		for _, v := range values {
			size += len(name) + len(v)
		}
	}
	if fields > l.Headers || size > l.HeaderBytes {
		return refuse(http.StatusRequestHeaderFieldsTooLarge, "The header has more than %d fields or %d bytes.", l.Headers, l.HeaderBytes)
	}
	return nil
}

// tooMany is the refusal of a request that exceeds a limit of its user.
func tooMany(after time.Duration, format string, args ...any) error {
	return &Refusal{Status: http.StatusTooManyRequests, Detail: fmt.Sprintf(format, args...), RetryAfter: after}
}

// accounts counts the current use of each user. The account of a user that uses nothing is removed after a while.
type accounts struct {
	limits Limits

	mu      sync.Mutex
	users   map[string]*account
	sweepAt int // the number of accounts at which unused ones are removed
	streams int
	bytes   int64
}

type account struct {
	requests *rate.Limiter
	streams  int
	runs     int
	bytes    int64
}

const minSweep = 1024

func newAccounts(l Limits) *accounts {
	return &accounts{limits: l, users: map[string]*account{}, sweepAt: minSweep}
}

// of returns the account of a user. The caller holds the lock.
func (a *accounts) of(user string) *account {
	if u := a.users[user]; u != nil {
		return u
	}
	if len(a.users) >= a.sweepAt {
		a.sweep()
	}
	burst := 1
	if twice := 2 * a.limits.Requests; twice > 1 && twice < math.MaxInt32 {
		burst = int(twice)
	}
	u := &account{requests: rate.NewLimiter(rate.Limit(a.limits.Requests), burst)}
	a.users[user] = u
	return u
}

// sweep removes the accounts that have the same counts as a new one.
func (a *accounts) sweep() {
	for id, u := range a.users {
		if u.streams == 0 && u.runs == 0 && u.bytes == 0 && u.requests.Tokens() >= float64(u.requests.Burst()) {
			delete(a.users, id)
		}
	}
	a.sweepAt = max(minSweep, 2*len(a.users))
}

// request counts a request of a user, or returns a refusal.
func (a *accounts) request(user string) error {
	a.mu.Lock()
	r := a.of(user).requests.Reserve()
	a.mu.Unlock()
	if wait := r.Delay(); wait > 0 {
		r.Cancel()
		return tooMany(wait, "The user sends more than %g requests a second.", a.limits.Requests)
	}
	return nil
}

// stream counts a request that stays open until end is called. If limited is false, only the limit of all streams
// applies.
func (a *accounts) stream(user string, limited bool) (end func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.streams >= a.limits.Streams {
		return nil, &Refusal{Status: http.StatusServiceUnavailable, Detail: "The server has as many open streams as it may.", RetryAfter: time.Second}
	}
	u := a.of(user)
	if limited && u.streams >= a.limits.UserStreams {
		return nil, tooMany(time.Second, "The user has %d open streams, which is the limit.", u.streams)
	}
	a.streams++
	u.streams++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.streams--
		u.streams--
	}, nil
}

// room returns an error if a user may not start this number of runs.
func (a *accounts) room(user string, more int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.check(a.of(user), more)
}

func (a *accounts) check(u *account, more int) error {
	if u.runs+more > a.limits.UserRuns {
		return tooMany(time.Second, "The user has %d runs that have not ended; the limit is %d.", u.runs, a.limits.UserRuns)
	}
	return nil
}

// take counts a run of a user and its size, until give is called.
func (a *accounts) take(user string, size int, limited bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.of(user)
	if limited {
		if err := a.check(u, 1); err != nil {
			return err
		}
	}
	u.runs++
	a.add(u, large(size))
	return nil
}

// give counts the end of a run.
func (a *accounts) give(user string, size int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.of(user)
	u.runs--
	a.add(u, -large(size))
}

// minLarge is the size up to which requests and runs do not count as large.
const minLarge = 64 << 10

// large returns the size of a large request or run, and 0 for a small one.
func large(size int) int64 {
	if size <= minLarge {
		return 0
	}
	return int64(size)
}

// add counts bytes of a user. The caller holds the lock.
func (a *accounts) add(u *account, n int64) {
	a.bytes += n
	u.bytes += n
}

// takeBytes counts n more bytes of a request, until giveBytes is called. held bytes of the request count already. The
// limit of the user does not apply if nothing else counts for the user, nor the limit of the server if nothing else
// counts for the server.
func (a *accounts) takeBytes(user string, n, held int64, limited bool) error {
	if n == 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.of(user)
	if limited && u.bytes > held && u.bytes > a.limits.UserBytes-n {
		return tooMany(time.Second, "The user has other large requests and runs of %d bytes that have not ended; the limit is %d.", u.bytes-held, a.limits.UserBytes)
	}
	if a.bytes > held && a.bytes > a.limits.Bytes-n {
		return &Refusal{Status: http.StatusServiceUnavailable, Detail: "The server handles as many large requests as it may.", RetryAfter: time.Second}
	}
	a.add(u, n)
	return nil
}

func (a *accounts) giveBytes(user string, n int64) {
	if n == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.add(a.of(user), -n)
}

// openStreams returns the number of requests that stay open.
func (a *accounts) openStreams() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.streams
}

// open returns a handler that counts its requests as streams.
func open(h handler) handler {
	return func(c *call) error {
		end, err := c.s.accounts.stream(c.user.ID, c.s.o.Auth != nil)
		if err != nil {
			return err
		}
		defer end()
		return h(c)
	}
}
