//! The addresses that a webhook may reach: those of the public internet and, if the settings allow it, those of a
//! private network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kind of network that an IP address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressReach {
    Public,
    /// The address of this machine, or of a private network of its owner.
    Private,
    /// An address that no webhook may reach: link-local (including the metadata services of clouds), multicast,
    /// reserved, documentation.
    Never,
}

/// Tells whether a webhook may reach this address: any address of the public internet and, with `private`, also an
/// address of this machine or of a private network. Link-local, multicast, reserved and cloud metadata addresses are
/// always refused.
pub fn is_public(address: IpAddr, private: bool) -> bool {
    match reach(address) {
        AddressReach::Public => true,
        AddressReach::Private => private,
        AddressReach::Never => false,
    }
}

fn reach(address: IpAddr) -> AddressReach {
    match address {
        IpAddr::V4(address) => of_v4(address),
        IpAddr::V6(address) => of_v6(address),
    }
}

fn of_v4(address: Ipv4Addr) -> AddressReach {
    // The cloud metadata services of Alibaba and Azure have these two addresses. By their ranges, the first address
    // would count as private and the second as public, so both are refused here one by one.
    let metadata = [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(168, 63, 129, 16)];
    if metadata.contains(&address) {
        return AddressReach::Never;
    }
    match address.octets() {
        [127, ..] | [10, ..] | [192, 168, ..] => AddressReach::Private,
        [172, second, ..] if (16..32).contains(&second) => AddressReach::Private,
        // The range 100.64.0.0/10, which carriers and overlay networks share, is private.
        [100, second, ..] if (64..128).contains(&second) => AddressReach::Private,
        // No webhook may reach these addresses: "this" network, link-local, protocol assignments, documentation, the
        // old 6to4 relay and, in the next arm, benchmarks.
        [0, ..] | [169, 254, ..] | [192, 0, 0 | 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [192, 88, 99, _] => {
            AddressReach::Never
        }
        [198, 18 | 19, ..] => AddressReach::Never,
        // No webhook may reach multicast, reserved and broadcast addresses.
        [224..=255, ..] => AddressReach::Never,
        _ => AddressReach::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> AddressReach {
    let parts = address.segments();
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match parts {
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressReach::Private,
        // An IPv4 address inside an IPv6 address (mapped, translated by NAT64, or tunnelled by 6to4) is judged as an
        // IPv4 address.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => of_v4(v4(high, low)),
        [0x2002, high, low, ..] => of_v4(v4(high, low)),
        // The metadata service of Amazon has this unique local address, and no webhook may reach a metadata service.
        [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254] => AddressReach::Never,
        // All other unique local addresses (fc00::/7) are private.
        [first, ..] if first & 0xfe00 == 0xfc00 => AddressReach::Private,
        // No webhook may reach these ranges, although they are global unicast addresses: protocol assignments (among
        // them Teredo) and documentation.
        [0x2001, second, ..] if second < 0x0200 || second == 0x0db8 => AddressReach::Never,
        [0x3fff, second, ..] if second < 0x1000 => AddressReach::Never,
        [first, ..] if first & 0xe000 == 0x2000 => AddressReach::Public,
        // No webhook may reach any other address: unspecified, the old IPv4-compatible form, other NAT64 prefixes,
        // discard, link-local, site-local, multicast, and unassigned.
        _ => AddressReach::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_is_known() {
        let cases = [
            (
                AddressReach::Public,
                "1.1.1.1 8.8.8.8 93.184.216.34 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0 169.253.0.1",
            ),
            (
                AddressReach::Public,
                "192.0.1.1 198.17.0.1 198.20.0.1 223.255.255.255 11.0.0.1 2606:4700::1111 2a00:1450::1 2001:4860::8888",
            ),
            (AddressReach::Public, "::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1"),
            (
                AddressReach::Private,
                "127.0.0.1 127.255.255.254 10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1",
            ),
            (
                AddressReach::Private,
                "100.64.0.1 100.127.255.255 ::1 fc00::1 fdff:ffff::1 ::ffff:127.0.0.1 ::ffff:10.1.2.3",
            ),
            (AddressReach::Private, "64:ff9b::7f00:1 64:ff9b::c0a8:1 2002:7f00:1::1 2002:a00:1::"),
            (
                AddressReach::Never,
                "0.0.0.0 0.1.2.3 169.254.169.254 169.254.0.1 100.100.100.200 168.63.129.16 192.0.0.192 192.0.2.1",
            ),
            (
                AddressReach::Never,
                "198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 192.88.99.1 224.0.0.1 239.1.1.1 240.0.0.1",
            ),
            (
                AddressReach::Never,
                "255.255.255.255 :: ::2 fe80::1 fec0::1 ff02::1 fd00:ec2::254 2001:db8::1 2001::1 3fff::1 100::1",
            ),
            (
                AddressReach::Never,
                "::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::1 64:ff9b:1::1 ::7f00:1 5f00::1 4000::1",
            ),
        ];
        for (expected, addresses) in cases {
            for text in addresses.split(' ') {
                let address: IpAddr = text.parse().unwrap();
                assert_eq!(reach(address), expected, "{text}");
                assert_eq!(is_public(address, false), expected == AddressReach::Public, "{text}");
                assert_eq!(is_public(address, true), expected != AddressReach::Never, "{text}");
            }
        }
    }
}
