//! Results that something else has changed, and folders that hold something else.

use super::*;

/// Flips bits of every file of a result, one at a time; whoever reads the result then sees an error, or the
/// same. Says how often there was an error.
fn flip_bits<T: PartialEq>(root: &Path, read: impl Fn() -> Result<T, ResultError>) -> u64 {
    fn files(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { files(&path, found) } else { found.push(path) }
        }
    }
    let sound = read().unwrap();
    let mut noticed = 0;
    let mut paths = Vec::new();
    files(root, &mut paths);
    for path in paths {
        let bytes = fs::read(&path).unwrap();
        // A step that is prime to 8, so that every position in a byte comes up.
        for bit in (0..bytes.len() * 8).step_by(53) {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &flipped).unwrap();
            match read() {
                Err(_) => noticed += 1,
                Ok(found) => assert!(found == sound, "bit {bit} of {} goes unnoticed", path.display()),
            }
        }
        fs::write(&path, &bytes).unwrap();
    }
    assert!(read().unwrap() == sound);
    noticed
}

/// A result as far as it can be read.
type Found = (State, ResultInfo, String, Vec<Table>);

fn read_all(root: &Path) -> Result<Found, ResultError> {
    let folder = ResultFolder::open(root)?;
    folder.verify()?;
    let tables = TableName::ALL.map(|table| folder.table(table));
    let tables = tables.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok((folder.state(), folder.info().clone(), folder.scenario()?, tables))
}

#[test]
fn a_flipped_bit_is_noticed_or_does_not_matter() {
    let scratch = Scratch::new("bits");
    let mut simulation = simulation();
    simulation.probes.captures = vec![(2, 0)];
    simulation.probes.internals = true;
    let names = labels();
    let options = RunOptions { out: Some(scratch.0.clone()), ..RunOptions::default() };
    run_on(&incast_sim::run, &job(&simulation, &names), &options, &mut go).unwrap();
    let bytes = fs::metadata(scratch.0.join(CAPTURE_FILE)).unwrap().len();
    assert_eq!(read_all(&scratch.0).unwrap().0, State::Complete);
    let noticed = flip_bits(&scratch.0, || read_all(&scratch.0));
    assert!(noticed > 1000 + bytes * 8 / 53, "{noticed}");
}

/// A flipped bit in the remains of a killed run is noticed: in its parts, its scenario, and the `result.json`
/// so far.
#[test]
fn a_flipped_bit_in_what_a_killed_run_leaves_is_noticed() {
    let scratch = Scratch::new("bits-killed");
    let simulation = simulation();
    let info = ResultInfo::begin("parts", &simulation, &[]);
    let (mut writer, _) = ResultWriter::create(&scratch.0, &info, SCENARIO, false).unwrap();
    let labels = Labels::new(&simulation, &[], &[], &[]);
    for part in 0..3 {
        let rows = PortSeries::batch(&samples(part * 20..(part + 1) * 20), &labels);
        writer.part(TableName::PortSeries, &rows).unwrap();
    }
    drop(writer);
    let found = read_all(&scratch.0).unwrap();
    assert_eq!((found.0, found.3[TableName::PortSeries as usize].rows()), (State::Incomplete, 60));
    let noticed = flip_bits(&scratch.0, || read_all(&scratch.0));
    assert!(noticed > 100, "{noticed}");
    // And the writer itself does not merge a part that has changed under it.
    let (mut writer, _) = ResultWriter::create(&scratch.0, &info, SCENARIO, false).unwrap();
    writer.part(TableName::PortSeries, &PortSeries::batch(&samples(0..20), &labels)).unwrap();
    let file_names = names(&scratch.0.join("port_series"));
    let part = scratch.0.join("port_series").join(&file_names[0]);
    let mut bytes = fs::read(&part).unwrap();
    bytes[100] ^= 1;
    fs::write(&part, &bytes).unwrap();
    let error = writer.finish(&ResultInfo { state: Written::Complete, ..info }, 7).unwrap_err();
    assert!(error.to_string().contains("is damaged: its content does not match its digest"), "{error}");
}

#[test]
fn another_result_in_the_place_of_an_open_one_is_told() {
    let scratch = Scratch::new("replaced");
    let first = run_here(&incast_sim::run, Some(&scratch.0), false).unwrap();
    let simulation = Simulation { flows: simulation().flows[..1].to_vec(), ..simulation() };
    let names = labels();
    let options = RunOptions { out: Some(scratch.0.clone()), replace: true, ..RunOptions::default() };
    run_on(&incast_sim::run, &job(&simulation, &names), &options, &mut go).unwrap();
    let error = first.table(TableName::Flows).unwrap_err();
    assert!(error.to_string().contains("was replaced by another result since it was opened"), "{error}");
}

#[test]
fn a_folder_that_is_not_ours_is_left_alone() {
    let scratch = Scratch::new("foreign");
    let refused = |name: &str| {
        let error = run_here(&incast_sim::run, Some(&scratch.0), true).unwrap_err();
        let RunError::Result(ResultError::Foreign { name: named, .. }) = &error else { panic!("{error}") };
        assert_eq!(named, name);
    };
    // A user's own scenario beside which a result is asked for.
    fs::write(scratch.0.join("scenario.toml"), "mine").unwrap();
    refused("scenario.toml");
    assert_eq!(fs::read_to_string(scratch.0.join("scenario.toml")).unwrap(), "mine");
    fs::remove_file(scratch.0.join("scenario.toml")).unwrap();
    // Somebody else's result.json.
    fs::write(scratch.0.join("result.json"), "{}").unwrap();
    refused("result.json");
    fs::remove_file(scratch.0.join("result.json")).unwrap();
    // Notes beside our own result, and in one of its folders.
    run_here(&incast_sim::run, Some(&scratch.0), false).unwrap();
    fs::write(scratch.0.join("notes.txt"), "").unwrap();
    refused("notes.txt");
    fs::remove_file(scratch.0.join("notes.txt")).unwrap();
    fs::create_dir(scratch.0.join("flows")).unwrap();
    fs::write(scratch.0.join("flows/part-one.parquet"), "").unwrap();
    refused("flows/part-one.parquet");
    assert_eq!(ResultFolder::open(&scratch.0).unwrap().state(), State::Complete);
}

#[test]
fn damage_is_reported_with_its_file() {
    let scratch = Scratch::new("damage");
    run_here(&incast_sim::run, Some(&scratch.0), false).unwrap();
    let path = scratch.0.join("flows.parquet");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 40]).unwrap();
    let error = ResultFolder::open(&scratch.0).unwrap().table(TableName::Flows).unwrap_err();
    assert!(error.to_string().contains("flows.parquet is damaged"), "{error}");
    fs::remove_file(&path).unwrap();
    let error = ResultFolder::open(&scratch.0).unwrap().table(TableName::Flows).unwrap_err();
    assert!(error.to_string().starts_with("cannot read"), "{error}");
    fs::write(scratch.0.join("result.json"), "{\"format\": \"incast-result\"").unwrap();
    let error = ResultFolder::open(&scratch.0).unwrap_err();
    assert!(error.to_string().contains("result.json is damaged"), "{error}");
}
