/** Machines, interfaces, disks and events in the shapes of the MAAS 2.0 API. */
import {
  type SimDisk,
  type SimEvent,
  type SimInterface,
  type SimMachine,
  type SimReleaseRun,
  SUBNET_ID,
  VLAN_ID,
} from './sim-machine.ts';
import { STATUS_NAMES } from './statuses.ts';

const API = '/MAAS/api/2.0';

const VLAN = {
  vid: 0,
  mtu: 1500,
  dhcp_on: true,
  external_dhcp: null,
  relay_vlan: null,
  fabric: 'fabric-0',
  fabric_id: 0,
  primary_rack: '7xtf67',
  secondary_rack: null,
  space: 'undefined',
  name: 'untagged',
  id: VLAN_ID,
  resource_uri: `${API}/vlans/${VLAN_ID}/`,
};

export const SUBNET = {
  name: '10.20.0.0/16',
  vlan: VLAN,
  cidr: '10.20.0.0/16',
  rdns_mode: 2,
  gateway_ip: '10.20.0.1',
  dns_servers: [],
  allow_dns: true,
  allow_proxy: true,
  active_discovery: false,
  managed: true,
  space: 'undefined',
  id: SUBNET_ID,
  resource_uri: `${API}/subnets/${SUBNET_ID}/`,
};

export function interfaceJson(machine: SimMachine, given: SimInterface): Record<string, unknown> {
  return {
    id: given.id,
    name: given.name,
    type: given.type,
    mac_address: given.mac,
    system_id: machine.systemId,
    enabled: true,
    vlan: VLAN,
    links: given.links.map(({ id, mode, subnetId }) => ({
      id,
      mode,
      ...(subnetId === null ? {} : { subnet: SUBNET }),
    })),
    discovered: null,
    parents: given.parents,
    children: machine.interfaces
      .filter(({ parents }) => parents.includes(given.name))
      .map(({ name }) => name),
    effective_mtu: 1500,
    params: '',
    tags: [],
    vendor: 'Mellanox Technologies',
    product: 'MT2892 Family [ConnectX-6 Dx]',
    firmware_version: '22.31.1014',
    link_connected: true,
    interface_speed: 100_000,
    link_speed: 100_000,
    numa_node: 0,
    sriov_max_vf: 0,
    resource_uri: `${API}/nodes/${machine.systemId}/interfaces/${given.id}/`,
  };
}

export function diskJson(machine: SimMachine, disk: SimDisk): Record<string, unknown> {
  const isRoot = machine.rootDiskId === disk.id;
  return {
    id: disk.id,
    name: disk.name,
    type: 'physical',
    model: disk.model,
    serial: disk.serial,
    size: disk.size,
    block_size: 512,
    available_size: isRoot ? 0 : disk.size,
    used_size: isRoot ? disk.size : 0,
    used_for: isRoot ? 'GPT partitioned with 1 partition' : 'Unused',
    path: `/dev/disk/by-dname/${disk.name}`,
    id_path: `/dev/disk/by-id/${disk.serial}`,
    uuid: null,
    tags: ['ssd'],
    filesystem: null,
    partition_table_type: isRoot ? 'GPT' : null,
    partitions: [],
    firmware_version: '2.5.13',
    storage_pool: null,
    numa_node: 0,
    system_id: machine.systemId,
    resource_uri: `${API}/nodes/${machine.systemId}/blockdevices/${disk.id}/`,
  };
}

export interface MachineMoment {
  readonly powerState: 'on' | 'off' | 'error' | 'unknown';
  readonly lastSync: number | null;
  readonly syncIntervalSeconds: number;
}

export function machineJson(machine: SimMachine, moment: MachineMoment): Record<string, unknown> {
  const disks = machine.disks.map((disk) => diskJson(machine, disk));
  const interfaces = machine.interfaces.map((one) => interfaceJson(machine, one));
  const { lastSync, syncIntervalSeconds } = moment;
  // The newest that is not for debugging.
  const latest = machine.events.findLast(({ level }) => level !== 'DEBUG');
  const hasRun = machine.disks.length > 0;
  return {
    system_id: machine.systemId,
    hostname: machine.hostname,
    description: '',
    fqdn: `${machine.hostname}.${machine.domain}`,
    domain: {
      authoritative: true,
      ttl: null,
      is_default: machine.domain === 'maas',
      name: machine.domain,
      resource_record_count: 0,
      id: 0,
      resource_uri: `${API}/domains/0/`,
    },
    owner: machine.owner,
    owner_data: {},
    workload_annotations: {},
    locked: machine.locked,
    architecture: machine.architecture,
    min_hwe_kernel: machine.minHweKernel,
    hwe_kernel: machine.hweKernel,
    bios_boot_method: 'uefi',
    cpu_count: hasRun ? 96 : 0,
    cpu_speed: hasRun ? 2450 : 0,
    memory: hasRun ? 1_048_576 : 0,
    swap_size: null,
    storage: machine.disks.reduce((sum, { size }) => sum + size / 1_000_000, 0),
    status: machine.status,
    status_name: STATUS_NAMES[machine.status],
    status_action: latest?.type ?? '',
    status_message: latest?.description ?? '',
    error_description: machine.errorDescription,
    osystem: machine.osystem,
    distro_series: machine.distroSeries,
    ephemeral_deploy: false,
    netboot: machine.deployedAt === null,
    power_type: machine.powerType,
    power_state: moment.powerState,
    tag_names: machine.tags,
    address_ttl: null,
    ip_addresses: machine.deployedAt === null ? [] : [`10.20.${machine.interfaces[0]?.id ?? 0}.1`],
    interface_set: interfaces,
    boot_interface: interfaces[0] ?? null,
    blockdevice_set: disks,
    physicalblockdevice_set: disks,
    virtualblockdevice_set: [],
    boot_disk: disks.find(({ id }) => id === machine.bootDiskId) ?? null,
    volume_groups: [],
    raids: [],
    cache_sets: [],
    bcaches: [],
    special_filesystems: [],
    zone: { name: machine.zone, description: '', id: 1, resource_uri: `${API}/zones/${machine.zone}/` },
    pool: { name: machine.pool, description: '', id: 0, resource_uri: `${API}/resourcepool/0/` },
    parent: null,
    disable_ipv4: false,
    default_gateways: {
      ipv4: { gateway_ip: null, link_id: null },
      ipv6: { gateway_ip: null, link_id: null },
    },
    node_type: 0,
    node_type_name: 'Machine',
    hardware_uuid: null,
    hardware_info: { system_vendor: 'Dell Inc.', system_product: 'PowerEdge XE9680' },
    current_commissioning_result_id: hasRun ? 1 : null,
    current_testing_result_id: null,
    current_installation_result_id: null,
    commissioning_status: hasRun ? 2 : -1,
    commissioning_status_name: hasRun ? 'Passed' : 'Unknown',
    testing_status: -1,
    testing_status_name: 'Unknown',
    numanode_set: [],
    enable_hw_sync: machine.enableHardwareSync,
    // Without a zone, in UTC.
    last_sync: lastSync === null ? null : new Date(lastSync).toISOString().replace('Z', ''),
    sync_interval: machine.enableHardwareSync ? syncIntervalSeconds : null,
    next_sync:
      lastSync === null
        ? null
        : new Date(lastSync + syncIntervalSeconds * 1000).toISOString().replace('Z', ''),
    enable_kernel_crash_dump: false,
    is_dpu: false,
    resource_uri: `${API}/machines/${machine.systemId}/`,
  };
}

/** A run of release scripts. While disks are erased MAAS keeps no results of it: the script stays pending. */
export function releaseRunJson(machine: SimMachine, { id, wipe }: SimReleaseRun): Record<string, unknown> {
  const parameter = (argument: string, value: boolean) => ({
    type: 'boolean',
    argument_format: argument,
    value,
  });
  return {
    id,
    system_id: machine.systemId,
    type: 3,
    type_name: 'Release',
    status: 0,
    status_name: 'Pending',
    results: [
      {
        id: id + 1,
        name: 'wipe-disks',
        status: 0,
        status_name: 'Pending',
        exit_status: null,
        parameters: {
          quick_erase: parameter('--quick-erase', wipe.quickErase),
          secure_erase: parameter('--secure-erase', wipe.secureErase),
        },
      },
    ],
    resource_uri: `${API}/nodes/${machine.systemId}/results/${id}/`,
  };
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

export function eventJson(machine: SimMachine, event: SimEvent): Record<string, unknown> {
  return {
    username: 'unknown',
    node: machine.systemId,
    hostname: machine.hostname,
    id: event.id,
    level: event.level,
    created: eventTime(event.at),
    type: event.type,
    description: event.description,
  };
}

/** "Fri, 07 Dec. 2018 20:11:08" */
function eventTime(at: number): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${DAYS[date.getUTCDay()]}, ${two(date.getUTCDate())} ${MONTHS[date.getUTCMonth()]}.`;
  const time = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(two).join(':');
  return `${day} ${date.getUTCFullYear()} ${time}`;
}
