"""Pretends to be a rung, a rung in parts, or ncu. A test writes what it says and does into the file
NAME.json beside it: see House."""

import json
import os
import sys
import time

ME, WORDS = sys.argv[0], sys.argv[1:]
NAME = os.path.basename(ME)
with open(f"{ME}.json") as told_file:
    TOLD = json.load(told_file)


def act(exit=None, out="", err="", sleep=0, signal=0, crash=False):
    """What a test wants of a call."""
    print(out, end="", flush=True)
    print(err, end="", file=sys.stderr, flush=True)
    if signal:
        time.sleep(0.2)  # what was written before is read
        os.kill(os.getppid(), signal)
    if crash:
        os.abort()
    time.sleep(sleep)
    if exit is not None:
        sys.exit(exit)


def calls(*words):
    """Writes down this call, and counts those before it."""
    with open(TOLD["log"], "a+") as log:
        log.write(" ".join(words) + "\n")
        log.seek(0)
        return [line.split()[0] for line in log].count(words[0]) - 1


def timed(call, rounds, protocol, speeds):
    """Samples that are 1 % longer by round and 10 % by call, and readings that follow from them."""
    found = {}
    for who, speed in speeds.items():
        noise = TOLD.get("noise", 0) if who == "step" else 0
        lengths = ((1 + 0.01 * i + 0.1 * call) * (1 + noise * (i % 3)) for i in range(rounds))
        read = {"share": 0.5 * speed, "ghz": 1.5 + call / 10}
        read = {"before_seconds": 0.001 * (1 + call)} if protocol == "call" else read
        read |= {"watts": 650.0, "joules": 650.0} if protocol == "sustained" else {}
        found[who] = {"seconds": [TOLD["seconds"] * one / speed for one in lengths], **read}
    return found


def row_of(options, call):
    """The row of the test, with what the options say."""
    row, protocol = TOLD["row"], options.get("protocol", "none")
    context, problem = row["context"], row["context"]["problem"]
    given = {key: type(one)(options.get(key, one)) for key, one in problem.items()}
    context["problem"] = {**given, **TOLD.get("problem", {})}
    if protocol == "none":
        return row
    context |= {"protocol": protocol, "rounds": int(options["rounds"])}
    beside = {"cublaslt": 1.25} if {"heuristics", "algorithm"} & {*options} else {}
    alone = given["m"] % TOLD.get("alone", 1)  # cuBLASLt takes no such shape
    speeds = {"step": 1.0, **({} if alone else {**beside, **TOLD["speeds"]})}
    row["timed"] = timed(call, context["rounds"], protocol, speeds)
    if "heuristics" in options:
        row["heuristics"] = TOLD["heuristics"]
    if call < TOLD.get("busy_from", 0):
        row.pop("other_processes")
    return row


def count():
    """As ncu: runs the program, and prints its launches."""
    place = WORDS.index("--metrics")
    command, metrics = WORDS[place + 2 :], WORDS[place + 1].split(",")
    if status := os.spawnv(os.P_WAIT, command[0], command):
        print(f"==ERROR== The application returned an error code ({status}).")
        sys.exit(TOLD["status"])
    print(",".join(f'"{cell}"' for cell in ["ID", "Kernel Name", *metrics]))
    for number, kernel in enumerate(TOLD["kernels"]):
        values = ("n/a" if "requests" in one else f"1,234,{number:03}" for one in metrics)
        print(",".join(f'"{cell}"' for cell in [number, kernel, *values]))


def be_a_rung(words):
    """Runs once, as its options say."""
    options = dict(zip((word[2:] for word in words[::2]), words[1::2]))
    call = calls(NAME, *words)
    turn = options.get("kernel", str(call))
    if int(options.get("m", 0)) % TOLD.get("multiple", 1):
        act(2, err=f"{NAME}: m={options['m']} is no multiple\n")
    act(**(TOLD["acts"].get(turn) or TOLD["acts"].get("each") or {}))
    if turn in TOLD.get("paced", ()) and not os.environ["ENERGY_PACE_SECONDS"]:
        act(1, err="say how long\n")
    row = TOLD["rows"][turn] if "rows" in TOLD else row_of(options, call)
    with open(options["json"] + ".new", "w") as stream:
        stream.write(TOLD.get("json", json.dumps(row)))
    os.replace(options["json"] + ".new", options["json"])


if WORDS[0] in TOLD.get("answers", ()):  # --version, --explain
    print(TOLD["answers"][WORDS[0]])
elif NAME == "ncu":
    count()
elif WORDS[0] == "--runs":  # once for each line of a file
    calls("runs")
    with open(WORDS[1]) as runs:
        for line in runs:
            be_a_rung(line.rstrip("\n").split("\t"))
else:
    be_a_rung(WORDS)
