//! The list of all algorithms.

/// Passes every algorithm to the macro `$callback`, in the order of lists: its module, and the type of a flow's state
/// in it.
///
/// A new algorithm has its line here and its `mod` line in `lib.rs`; the catalogue, scenario files, the C library, the
/// functions for the kernel and the tests of all algorithms follow.
#[macro_export]
macro_rules! for_each_algorithm {
    ($callback:ident) => {
        $callback! {
            constant: Constant;
            oscar: Oscar;
            hpcc: Hpcc;
            powertcp: PowerTcp;
            theta_powertcp: ThetaPowerTcp;
            dcqcn: Dcqcn;
            dctcp: Dctcp;
            swift: Swift;
            newreno: NewReno;
            lswift: LSwift;
            mswift: MSwift;
            timely: Timely;
            ccc: Ccc;
            patched_timely: PatchedTimely;
            sqcc: Sqcc;
            retcp: ReTcp;
            oracle: Oracle;
            poseidon: Poseidon;
            nscc: Nscc;
            mnscc: Mnscc;
            smartt: Smartt;
        }
    };
}
