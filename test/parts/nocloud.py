"""What cloud-init's NoCloud makes of a seed: its own code, with what blkid finds on one partition and files that were read from it."""
import json
import subprocess
import sys
import tempfile

from cloudinit import helpers, util
from cloudinit.distros import debian
from cloudinit.sources.DataSourceNoCloud import DataSourceNoCloud

partition, files = sys.argv[1:]


def find_devs_with(criteria, **_):
    name, _, value = criteria.partition("=")
    blkid = ["blkid", "-p", "-s", name, "-o", "value", partition]
    tag = subprocess.run(blkid, capture_output=True, text=True).stdout.strip()
    return [partition] if tag == value else []


def mount_cb(_device, callback, data=None, **_):
    return callback(files) if data is None else callback(files, data)


util.find_devs_with = find_devs_with
util.mount_cb = mount_cb
with tempfile.TemporaryDirectory() as state:
    paths = helpers.Paths({"cloud_dir": state, "run_dir": state})
    source = DataSourceNoCloud({}, debian.Distro("debian", {}, paths), paths)
    found = source._get_data()
    user_data = source.userdata_raw
    answer = {
        "found": found,
        "instance": source.get_instance_id(),
        "hostname": source.get_hostname().hostname,
        "userData": user_data.decode() if isinstance(user_data, bytes) else user_data,
        "network": source.network_config if found else None,
    }
print(json.dumps(answer))
