package httpexec

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Loopback is the rule that allows this machine: loopback addresses, and the name localhost.
const Loopback = "loopback"

// Allow is the list of targets that workers may be called at. The zero Allow allows none. It is
// immutable.
type Allow struct {
	names []nameRule
	nets  []netRule
}

// nameRule allows URLs with a host name. Its addresses must be public, or a netRule's.
type nameRule struct {
	name string // ".example.com": all names that end with it
	port uint16 // 0: any
}

// netRule allows addresses, in URLs and of names.
type netRule struct {
	prefix netip.Prefix
	port   uint16 // 0: any
}

// ParseAllow reads rules. A rule is loopback; an address or a network (10.1.2.3, 10.0.0.0/8,
// fd00::/8); or a host name (workers.example.com, *.example.com). A colon and a port may follow,
// with brackets around an IPv6 address. A name allows public addresses alone: the private network
// of its addresses needs a rule of its own.
func ParseAllow(rules []string) (*Allow, error) {
	a := &Allow{}
	var errs []error
	for _, rule := range rules {
		if err := a.add(strings.ToLower(strings.TrimSpace(rule))); err != nil {
			errs = append(errs, fmt.Errorf("rule %q for workers: %w", rule, err))
		}
	}
	return a, errors.Join(errs...)
}

var errRule = errors.New("it is loopback, an address, a network such as 10.0.0.0/8, or a host " +
	"name such " +
	"as *.example.com; a colon and a port may follow")

func (a *Allow) add(rule string) error {
	if rule == Loopback {
		a.names = append(a.names, nameRule{name: "localhost"}, nameRule{name: ".localhost"})
		a.nets = append(a.nets, netRule{prefix: netip.MustParsePrefix("127.0.0.0/8")},
			netRule{prefix: netip.MustParsePrefix("::1/128")})
		return nil
	}
	if prefix, err := parsePrefix(rule); err == nil {
		return a.addNet(prefix, 0)
	}
	host, port, err := splitPort(rule)
	if err != nil {
		return err
	}
	if prefix, err := parsePrefix(host); err == nil {
		return a.addNet(prefix, port)
	}
	if name, ok := strings.CutPrefix(host, "*."); ok && isName(name) {
		a.names = append(a.names, nameRule{"." + name, port})
		return nil
	}
	if !isName(host) {
		return errRule
	}
	a.names = append(a.names, nameRule{host, port})
	return nil
}

func (a *Allow) addNet(prefix netip.Prefix, port uint16) error {
	if why := never(prefix.Addr()); why != "" {
		return fmt.Errorf("%s is %s, which is never called", prefix, why)
	}
	a.nets = append(a.nets, netRule{prefix, port})
	return nil
}

// parsePrefix reads a network, or an address as a network of one.
func parsePrefix(text string) (netip.Prefix, error) {
	text = strings.Trim(text, "[]")
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err == nil && prefix.Addr().Is4In6() {
		return prefix, errRule
	}
	return prefix.Masked(), err
}

// splitPort takes a port off the end of a rule; 0: it has none.
func splitPort(rule string) (string, uint16, error) {
	colon := strings.LastIndexByte(rule, ':')
	if colon < 0 {
		return rule, 0, nil
	}
	port, err := strconv.ParseUint(rule[colon+1:], 10, 16)
	if err != nil || port == 0 {
		return "", 0, errRule
	}
	return rule[:colon], uint16(port), nil
}

// isName says whether text is a host name: letters, digits, hyphens and dots, no address in
// disguise.
func isName(text string) bool {
	labels := strings.Split(strings.TrimSuffix(text, "."), ".")
	for _, label := range labels {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	// Some resolvers read 127.1, 2130706433 and 0x7f.1 as addresses.
	last := labels[len(labels)-1]
	return strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}

// Check says why a worker's URL is not allowed. It resolves a host name. One that cannot be
// resolved here is let through: the call checks its addresses again.
func (a *Allow) Check(ctx context.Context, raw string) error {
	target, err := a.checkURL(raw)
	if err != nil {
		return err
	}
	host := target.Hostname()
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil //nolint:nilerr // the call resolves it again, elsewhere perhaps
	}
	for _, address := range found {
		if err := a.checkAddress(address, portOf(target)); err != nil {
			return notAllowed(raw, fmt.Errorf("host %q resolves to an address that is not: %w",
				host, err))
		}
	}
	return nil
}

func notAllowed(raw string, why error) error {
	return fmt.Errorf("worker URL %q is not allowed: %w", raw, why)
}

// checkURL is Check without names being resolved.
func (a *Allow) checkURL(raw string) (*url.URL, error) {
	target, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("the worker's URL cannot be parsed: give one such as " +
			"http://host:9000")
	}
	if err := a.checkParts(target); err != nil {
		if target.User != nil { // the error is shown, and credentials are not
			raw = target.Redacted()
		}
		return nil, notAllowed(raw, err)
	}
	return target, nil
}

func (a *Allow) checkParts(target *url.URL) error {
	host := strings.ToLower(target.Hostname())
	switch {
	case target.Scheme != "http" && target.Scheme != "https":
		return errors.New("its scheme must be http or https")
	case target.User != nil:
		return errors.New("it must not contain a user or a password")
	case target.RawQuery != "" || target.ForceQuery || target.Fragment != "":
		return errors.New("it must not contain a query or a fragment")
	case host == "":
		return errors.New("it has no host")
	case portOf(target) == 0:
		return errors.New("its port must be between 1 and 65535")
	}
	if address, err := netip.ParseAddr(host); err == nil {
		if address.Zone() != "" {
			return errors.New("its address must not have a zone")
		}
		if err := a.checkLiteral(address, portOf(target)); err != nil {
			return err
		}
		return nil
	}
	if !isName(host) {
		return fmt.Errorf("host %q is neither an address nor a name", host)
	}
	if !slices.ContainsFunc(a.names, func(r nameRule) bool {
		return r.fits(host, portOf(target))
	}) {
		return fmt.Errorf("no rule allows it: the operator can add %q with %s", host, howTo)
	}
	return nil
}

const howTo = "--allow-worker, or with the parameter AllowWorkers of template.yaml"

func (r nameRule) fits(host string, port uint16) bool {
	host = strings.TrimSuffix(host, ".")
	named := host == r.name || strings.HasPrefix(r.name, ".") && strings.HasSuffix(host, r.name)
	return named && (r.port == 0 || r.port == port)
}

// checkLiteral says why a URL must not have an address for its host.
func (a *Allow) checkLiteral(address netip.Addr, port uint16) error {
	address = address.Unmap()
	if why := never(address); why != "" {
		return fmt.Errorf("%s is %s, which is never called", address, why)
	}
	if !a.inNet(address, port) {
		return fmt.Errorf("no rule allows it: the operator can add %q with %s", address, howTo)
	}
	return nil
}

// checkAddress says why an address must not be connected to. It is that of a URL that was checked.
func (a *Allow) checkAddress(address netip.Addr, port uint16) error {
	address = address.WithZone("").Unmap()
	if why := never(address); why != "" {
		return fmt.Errorf("%s is %s, which is never called", address, why)
	}
	if !public(address) && !a.inNet(address, port) {
		return fmt.Errorf("%s is not public, and no rule allows it: the operator can add it, or "+
			"its network, with %s", address, howTo)
	}
	return nil
}

func (a *Allow) inNet(address netip.Addr, port uint16) bool {
	return slices.ContainsFunc(a.nets, func(r netRule) bool {
		return r.prefix.Contains(address) && (r.port == 0 || r.port == port)
	})
}

// portOf is a URL's port; 0: it is not valid.
func portOf(target *url.URL) uint16 {
	text := target.Port()
	switch {
	case text == "" && target.Scheme == "https":
		return 443
	case text == "":
		return 80
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0
	}
	return uint16(port)
}

// metadata are addresses at which clouds tell their machines credentials. The others are
// link-local.
var metadata = []netip.Addr{netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("fd20:ce::254"),
	netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16")}

// never says what an address is that no rule can allow; "" if a rule can.
func never(address netip.Addr) string {
	address = address.Unmap()
	switch {
	case address.IsUnspecified():
		return "the unspecified address"
	case address.IsLinkLocalUnicast():
		return "a link-local address"
	case address.IsMulticast():
		return "a multicast address"
	case slices.Contains(metadata, address):
		return "a metadata service"
	case embedded(address):
		return "an address that another one is embedded in"
	}
	return ""
}

// translated are networks whose addresses stand for IPv4 addresses: NAT64, 6to4, Teredo, and the
// deprecated form ::a.b.c.d.
var translated = prefixes("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96")

func embedded(address netip.Addr) bool {
	return address != netip.IPv6Loopback() && within(translated, address)
}

// reserved are networks that are not the internet's, beside those that netip knows.
var reserved = prefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15",
	"240.0.0.0/4",
	"fec0::/10", "100::/64")

func public(address netip.Addr) bool {
	return address.IsGlobalUnicast() && !address.IsPrivate() && !address.IsLoopback() &&
		!within(reserved, address)
}

func within(all []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(address) })
}

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}
