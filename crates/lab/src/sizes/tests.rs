use super::*;

/// 64 random bits from a counter (Steele, Lea and Flood, SplitMix, OOPSLA 2014).
fn splitmix(i: u64) -> u64 {
    let mut z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The message for a text that must be refused.
fn refused(text: &str) -> String {
    SizeDistribution::from_text(text, "mine.cdf").unwrap_err().to_string()
}

#[test]
fn means_are_the_published_ones() {
    for (name, mean) in [("WebSearch", 1_711_250.0), ("Hadoop", 120_421.0), ("AliStorage", 40_870.0)] {
        let ours = SizeDistribution::named(name).unwrap().mean();
        assert!((ours - mean).abs() < 0.5, "{name}: {ours} B, published {mean} B");
    }
    // The trapezoid of our 48 points, worked out apart; the full list of 331 has 686 866 B.
    let follower = SizeDistribution::named("CacheFollower").unwrap().mean();
    assert!((follower - 687_930.864_1).abs() < 0.001, "{follower}");
    assert!((follower / 686_866.0 - 1.0).abs() < 0.002, "{follower}");
}

#[test]
fn draws_have_the_mean_and_the_shares_of_the_distribution() {
    const DRAWS: u64 = 400_000;
    for built_in in BUILT_IN {
        let distribution = SizeDistribution::named(built_in.name).unwrap();
        let mut sizes: Vec<f64> =
            (0..DRAWS).map(|i| distribution.quantile(splitmix(i)).get() as f64).collect();
        let mean = sizes.iter().sum::<f64>() / DRAWS as f64;
        let variance = sizes.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / DRAWS as f64;
        // Five standard errors, and the byte that rounding down may take.
        let allowed = 5.0 * (variance / DRAWS as f64).sqrt() + 1.0;
        assert!((mean - distribution.mean()).abs() < allowed, "{}: {mean}", built_in.name);
        sizes.sort_by(f64::total_cmp);
        for (size, share) in distribution.points() {
            let ours = sizes.partition_point(|&s| s < size.get() as f64) as f64 / DRAWS as f64;
            assert!((ours - share).abs() < 5.0 * (0.25 / DRAWS as f64).sqrt(), "{} {size:?}", built_in.name);
        }
    }
}

#[test]
fn quantiles_worked_by_hand() {
    let search = SizeDistribution::named("WebSearch").unwrap();
    let at = |percent: u64| search.quantile(((u128::from(percent) << 64) / 100) as u64 + 1).get();
    assert_eq!(search.quantile(0), Bytes::new(1)); // 0 B is raised to 1 B
    assert_eq!(at(15), 10_000);
    assert_eq!(at(25), 25_000); // half-way from 20 kB at 20 % to 30 kB at 30 %
    assert_eq!(at(65), 600_000); // half-way from 0.2 MB at 60 % to 1 MB at 70 %
    assert_eq!(search.quantile(u64::MAX), Bytes::new(29_999_999)); // below 100 %
    // The same bits everywhere: pinned.
    let pinned = [0x0123_4567_89ab_cdef, 0x5555_5555_5555_5555, 0xfedc_ba98_7654_3210];
    assert_eq!(pinned.map(|u| search.quantile(u).get()), [296, 36_666, 27_037_037]);
}

#[test]
fn a_file_in_either_scale_gives_the_same_distribution() {
    let percent = "# size share\n0 0\n10000\t15 # a comment\n\n30000,97.5\r\n1e6 100\n";
    let fraction = "0 0\n10000 0.15\n30000 .975\n1000000 1\n";
    let percent = SizeDistribution::from_text(percent, "a").unwrap();
    let fraction = SizeDistribution::from_text(fraction, "b").unwrap();
    assert_eq!((percent.scale(), fraction.scale()), (Scale::Percent, Scale::Fraction));
    assert_eq!(percent.points, fraction.points);
    // 0.15 · 5000 + 0.825 · 20 000 + 0.025 · 515 000
    assert_eq!(percent.mean(), 750.0 + 16_500.0 + 12_875.0);
}

#[test]
fn steps_and_gaps() {
    // Half of the flows have 100 B, the other half 1000 to 2000 B.
    let text = "100 0\n100 0.5\n1000 0.5\n2000 1\n";
    let distribution = SizeDistribution::from_text(text, "a").unwrap();
    assert_eq!(distribution.mean(), 50.0 + 750.0);
    assert_eq!(distribution.quantile(0), Bytes::new(100));
    assert_eq!(distribution.quantile((1 << 63) - 20), Bytes::new(100));
    assert_eq!(distribution.quantile(1 << 63), Bytes::new(1000));
    assert_eq!(distribution.quantile(3 << 62), Bytes::new(1500));
    // Flows of one size.
    let fixed = SizeDistribution::from_text("450000 0\n450000 1\n", "a").unwrap();
    assert_eq!((fixed.quantile(0), fixed.quantile(u64::MAX)), (Bytes::new(450_000), Bytes::new(450_000)));
    assert_eq!(fixed.mean(), 450_000.0);
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let cases = [
        ("", "mine.cdf: no points"),
        ("# nothing\n", "mine.cdf: no points"),
        ("10 0\n", "mine.cdf:1: one point is not a distribution"),
        ("0 0\n100\n", "mine.cdf:2: \"100\": not a size and a share"),
        ("0 0\n100 50 1\n", "mine.cdf:2: \"100 50 1\": not a size and a share"),
        ("0 0\n-5 50\n9 100\n", "mine.cdf:2: size \"-5\": a size cannot be negative"),
        ("0 0\n10KB 50\n", "mine.cdf:2: size \"10KB\": not a number; sizes are bytes"),
        ("0 0\n10.5 50\n", "mine.cdf:2: size \"10.5\": a size is a whole number of bytes"),
        ("0 0\n1e30 50\n", "mine.cdf:2: size \"1e30\": too large"),
        ("0 0\n10 -3\n", "mine.cdf:2: share \"-3\": a share cannot be negative"),
        ("0 0\n10 nan\n", "mine.cdf:2: share \"nan\": not a number"),
        ("0 0\n\n20 50\n10 60\n", "mine.cdf:4: size 10 B after 20 B"),
        ("0 0\n10 60\n20 50\n", "mine.cdf:3: share 50 after 60"),
        ("4000 22.93\n8000 100\n", "mine.cdf:1: the first share is 22.93 and not 0"),
        ("0 0\n10 50\n20 99.9\n", "mine.cdf:3: the last share is 99.9: it must be 1"),
        ("0 0\n10 50\n20 101\n", "mine.cdf:3: the last share is 101"),
        ("0 0\n10 0.5\n20 0.9999\n# end\n", "mine.cdf:3: the last share is 0.9999"),
        ("0 0\n0 1\n", "mine.cdf:2: every flow has 0 bytes"),
    ];
    for (text, expected) in cases {
        let message = refused(text);
        assert!(message.starts_with(expected), "{text:?}: {message}");
    }
}

#[test]
fn decimals_are_read_exactly() {
    let read = |text| number(text, 16, false).ok();
    assert_eq!(read("22.93"), Some(229_300_000_000_000_000));
    assert_eq!(read("1e-05"), Some(100_000_000_000));
    assert_eq!(read("100"), Some(WHOLE));
    assert_eq!(read("100.000"), Some(WHOLE));
    assert_eq!(read("0.0000000000000000000"), Some(0));
    assert_eq!(read("0e999999999"), Some(0));
    assert_eq!(read("0.30000000000000004"), Some(3_000_000_000_000_000)); // as Python prints 0.1 + 0.2
    assert_eq!(read("1e999999999"), None);
    assert_eq!(number("6000.0", 0, true).ok(), Some(6000));
    assert_eq!(number("6000.5", 0, true).ok(), None);
    for text in ["", ".", "-", "1.2.3", "1e", "e5", "+1", "0x10", "1_000", "inf"] {
        assert_eq!(read(text), None, "{text:?}");
    }
}
