// Package client is the Go client of the API: the command line is built on it, and so are users' programs.
//
// Methods of [Client] speak of runs by id and of values as JSON. The package's functions of the same names ([Start],
// [Signal], [Update], [Query]) take the typed definitions that workflows are written with, and are what a Go program wants.
//
// A call that fails may be repeated: starts and mail carry an id, made here if the caller gives none, so the client itself
// repeats what was refused for a moment (429, 502, 503, 504, no connection) until [Config.Retries] or the context ends it.
package client

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// DefaultAddress is where the development server listens unless it is told otherwise.
const DefaultAddress = "http://127.0.0.1:7717"

// ErrPlainHTTP says that a token would go over a network for all to read: see [Config.PlainHTTP].
var ErrPlainHTTP = errors.New("a token is not sent over plain HTTP to another machine")

// Config of a client. The zero value reaches a development server on this machine.
type Config struct {
	// Address of the API, as http://host:port or https://host, with a path where the API lies below one: the stage of an API
	// Gateway. Empty: [DefaultAddress].
	Address string
	// Token says who you are, to a server that asks: it goes with each request to the address, and nowhere else. It is not sent
	// over plain HTTP, except to this machine.
	Token string
	// PlainHTTP has the token sent over plain HTTP to other machines, too: something else encrypts on the way there.
	PlainHTTP bool
	// HTTP performs requests. Nil: one with the transport of [NewTransport]. A timeout in it must be longer than Poll.
	HTTP *http.Client
	// Retries is how often one call is repeated at most, after 50 ms, and twice as long each further time, up to 2 s.
	// Zero: 6, which takes about 3 s. Negative: none.
	Retries int
	// Poll is how long one request waits for the end of a run or of an update, before it is asked again. Zero: 25 s, which is
	// less than what gateways and load balancers cut off.
	Poll time.Duration
}

// Client is safe for concurrent use. It keeps the order of its mail to each run.
type Client struct {
	config Config
	base   string
	stamps stamps
}

// New makes a client. It does not connect. The error says what is wrong with the address, or that the token would be sent for
// all to read.
func New(config Config) (*Client, error) {
	config = config.withDefaults()
	base, err := url.Parse(config.Address)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("the address %q is not of the form http://host:port or https://host", config.Address)
	}
	if config.Token != "" {
		if base.Scheme == "http" && !Loopback(base.Host) && !config.PlainHTTP {
			return nil, fmt.Errorf("%w (%s): use https", ErrPlainHTTP, base.Host)
		}
		config.HTTP = bearer(config.HTTP, base, config.Token)
	}
	return &Client{config: config, base: strings.TrimSuffix(base.String(), "/")}, nil
}

func (c Config) withDefaults() Config {
	if c.Address == "" {
		c.Address = DefaultAddress
	}
	if c.HTTP == nil {
		c.HTTP = &http.Client{Transport: NewTransport()}
	}
	if c.Retries == 0 {
		c.Retries = 6
	}
	if c.Poll == 0 {
		c.Poll = 25 * time.Second
	}
	return c
}

// NewTransport makes a transport that keeps up to 256 connections to one host for the next requests, and waits 10 s for a
// new one at most.
func NewTransport() *http.Transport {
	return &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 256, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 10 * time.Second}
}

// Address is where the client sends its requests.
func (c *Client) Address() string { return c.base }

// Transport performs one request as the client performs its own: with its token or signature.
func (c *Client) Transport() http.RoundTripper {
	if c.config.HTTP.Transport == nil {
		return http.DefaultTransport
	}
	return c.config.HTTP.Transport
}

// Close closes connections that nobody uses at the moment.
func (c *Client) Close() { c.config.HTTP.CloseIdleConnections() }

// newID makes the id of a start or a mail: 130 random bits.
func newID() string { return strings.ToLower(rand.Text()) }
