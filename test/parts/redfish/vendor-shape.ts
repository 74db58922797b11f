/**
 * How the BMCs of vendors look and behave, after captured answers of real ones and after what the sources below report. What
 * is not here is as the schema has it (DSP2046).
 */
export interface VendorShape {
  readonly root: Readonly<Record<string, unknown>>;
  readonly systemId: string;
  readonly manufacturer: string;
  /** `action`: listed in the action; `info`: in a resource of its own; `none`: nowhere. */
  readonly resetsListed: 'action' | 'info' | 'none';
  readonly resets: readonly string[];
  readonly bootTargets: readonly string[];
  readonly bootLengths: readonly string[] | null;
  /** Whether the lengths are listed; others are refused in any case. */
  readonly listsLengths: boolean;
  /** Where the boot override can be changed. */
  readonly bootAt: 'system' | 'settings' | 'nowhere';
  /** `kept`: a change without a mode keeps it; `reverts`: it becomes Legacy; `read-only`: a change with it is refused. */
  readonly bootMode: 'kept' | 'reverts' | 'read-only';
  /** A change without If-Match is 428, one with a version that is not the current one 412. */
  readonly needsIfMatch: boolean;
  /** The version in the header: as in the body, or in another form; `gzip`: as a web server has it that compresses, and not in the body. */
  readonly etag: 'strong' | 'weak' | 'gzip' | 'none';
  /** Every answer is compressed. */
  readonly compresses: boolean;
  /** A reset that does not fit the power state. */
  readonly redundantReset: { readonly status: number; readonly messageId: string };
  /** The answer to a reset or change that was accepted. */
  readonly success: 'no content' | 'error-shaped' | 'task';
  /** How the answer names the task that work goes on in: its monitor, the task by its address, in a message, the task itself, or nothing. */
  readonly taskAnswer: 'monitor' | 'task' | 'message' | 'body' | 'nothing';
  /** A change of settings is a job that waits for the next reset. */
  readonly scheduledJobs: boolean;
  /** The settings object of the BIOS: where it is, whether Bios names it, and what it lists. */
  readonly bios: {
    readonly place: 'Settings' | 'SD' | 'Pending';
    readonly isNamed: boolean;
    readonly lists: 'all' | 'changed';
    readonly applyTimes: readonly string[];
  };
  /** How the entries of the firmware inventory are called: by what they are, all the same with the purpose in the description, or by version and device. */
  readonly firmwareKnownBy: 'name' | 'purpose' | 'device';
  /** The version of the BIOS: by itself, or with its date before it. */
  readonly biosVersion: 'plain' | 'dated';
  /** Entries that are not what runs. */
  readonly moreFirmware: Readonly<Record<string, string>>;
  /** How firmware comes: the file is pushed, or the service fetches it. */
  readonly updates: ReadonlyArray<'push' | 'simple'>;
  /** Whether an update has to name what it is for: `none` refuses it, `owner` needs it. */
  readonly updateTargets: 'component' | 'owner' | 'none';
  readonly moreSystems: readonly string[];
  readonly hasSessions: boolean;
  /** A web server in front of it asks for the password with every request, also one for a session that does not exist. */
  readonly isGated: boolean;
  /** Whether collections are answered whole when a query asks for it; `ignored`: it is offered, and the query changes nothing. */
  readonly expand: 'offered' | 'ignored' | 'none';
  /** Whether the address of an HTTP boot can be set; `forgotten`: it is accepted, and not shown. */
  readonly httpBoot: 'offered' | 'forgotten' | 'refused' | 'none';
  /** Where GPUs are; `board`: among the processors of the first of the other systems. */
  readonly gpusAt: 'processors' | 'pcie' | 'board';
  /** Parameters of InsertMedia beside the image. */
  readonly media: { readonly demanded: readonly string[]; readonly refused: readonly string[] };
  /** The light that shows which machine it is: where, and in which form. */
  readonly indicator: {
    readonly at: 'system' | 'chassis';
    readonly form: 'location' | 'blinks' | 'lit only' | 'lit when well';
  };
  /** Where the power is limited; `switched`: the limit stays where it is while a switch elsewhere is off. */
  readonly powerLimit: 'control' | 'metrics' | 'switched' | 'none';
  /** Whether its web server has the serial console as a WebSocket. */
  readonly consoleSocket: boolean;
  readonly managerResets: readonly string[];
  /** Members on one page of a collection. */
  readonly pageOf: number;
  /** Where measurements are: in Thermal and Power, in a collection of Sensor, or in ThermalSubsystem and EnvironmentMetrics. */
  readonly sensorsAt: 'older' | 'collection' | 'subsystems';
  /** The log of the machine. */
  readonly log: {
    readonly at: 'system' | 'manager';
    readonly id: string;
    readonly type: 'SEL' | 'Event' | 'OEM';
    readonly order: 'newest first' | 'oldest first';
    readonly members: 'whole' | 'links';
  };
}

const STANDARD: VendorShape = {
  root: { Vendor: 'Simulated', Product: 'Simulated BMC' },
  systemId: '1',
  manufacturer: 'Simulated',
  resetsListed: 'action',
  resets: ['On', 'ForceOff', 'GracefulShutdown', 'GracefulRestart', 'ForceRestart', 'PushPowerButton', 'Nmi'],
  bootTargets: ['None', 'Pxe', 'Cd', 'Hdd', 'BiosSetup', 'UefiTarget', 'UefiHttp'],
  bootLengths: null,
  listsLengths: true,
  bootAt: 'system',
  bootMode: 'kept',
  needsIfMatch: false,
  etag: 'strong',
  compresses: false,
  firmwareKnownBy: 'name',
  biosVersion: 'plain',
  moreFirmware: {},
  redundantReset: { status: 204, messageId: '' },
  success: 'no content',
  taskAnswer: 'monitor',
  scheduledJobs: false,
  bios: { place: 'Settings', isNamed: true, lists: 'all', applyTimes: [] },
  updates: ['push', 'simple'],
  updateTargets: 'component',
  moreSystems: [],
  hasSessions: true,
  isGated: false,
  expand: 'none',
  httpBoot: 'offered',
  gpusAt: 'processors',
  media: { demanded: [], refused: [] },
  indicator: { at: 'system', form: 'location' },
  powerLimit: 'control',
  consoleSocket: false,
  managerResets: ['GracefulRestart', 'ForceRestart'],
  pageOf: 50,
  sensorsAt: 'older',
  log: { at: 'system', id: 'SEL', type: 'SEL', order: 'oldest first', members: 'whole' },
};

export const VENDOR_SHAPES = {
  standard: STANDARD,
  dell: {
    ...STANDARD,
    root: { Vendor: 'Dell', Product: 'Integrated Dell Remote Access Controller', Oem: { Dell: {} } },
    systemId: 'System.Embedded.1',
    manufacturer: 'Dell Inc.',
    etag: 'none',
    indicator: { at: 'system', form: 'lit when well' },
    powerLimit: 'switched',
    firmwareKnownBy: 'device',
    managerResets: ['GracefulRestart'],
    expand: 'offered',
    httpBoot: 'none',
    taskAnswer: 'task',
    scheduledJobs: true,
    updateTargets: 'none',
    bios: {
      place: 'Settings',
      isNamed: true,
      lists: 'changed',
      applyTimes: ['OnReset', 'AtMaintenanceWindowStart'],
    },
    redundantReset: { status: 409, messageId: 'IDRAC.2.8.PSU501' },
    sensorsAt: 'collection',
    log: { at: 'manager', id: 'Sel', type: 'SEL', order: 'newest first', members: 'whole' },
  },
  'dell-idrac10': {
    ...STANDARD,
    root: { Vendor: 'Dell', Product: 'Integrated Dell Remote Access Controller' },
    systemId: 'System.Embedded.1',
    manufacturer: 'Dell Inc.',
    bootAt: 'settings',
    taskAnswer: 'task',
    scheduledJobs: true,
    updateTargets: 'none',
    bios: {
      place: 'Settings',
      isNamed: true,
      lists: 'changed',
      applyTimes: ['OnReset', 'AtMaintenanceWindowStart'],
    },
    redundantReset: { status: 409, messageId: 'IDRAC.2.9.PSU501' },
  },
  hpe: {
    ...STANDARD,
    root: { Vendor: 'HPE', Product: 'ProLiant DL380 Gen10', Oem: { Hpe: {} } },
    manufacturer: 'HPE',
    resets: [
      'On',
      'ForceOff',
      'GracefulShutdown',
      'ForceRestart',
      'Nmi',
      'PushPowerButton',
      'GracefulRestart',
    ],
    bootMode: 'read-only',
    indicator: { at: 'system', form: 'lit only' },
    etag: 'weak',
    redundantReset: { status: 400, messageId: 'iLO.2.15.InvalidOperationForSystemState' },
    success: 'error-shaped',
    log: { at: 'system', id: 'IML', type: 'OEM', order: 'oldest first', members: 'links' },
  },
  supermicro: {
    ...STANDARD,
    root: { Oem: { Supermicro: {} } },
    manufacturer: 'Supermicro',
    resetsListed: 'info',
    bootTargets: ['None', 'Pxe', 'Floppy', 'Usb', 'Hdd', 'BiosSetup', 'UsbCd', 'UefiBootNext', 'UefiHttp'],
    bootMode: 'reverts',
    powerLimit: 'none',
    managerResets: ['GracefulRestart'],
    expand: 'ignored',
    gpusAt: 'pcie',
    media: { demanded: [], refused: ['Inserted', 'WriteProtected'] },
    biosVersion: 'dated',
    moreFirmware: { Backup_BMC: 'Not Present', Staging_BIOS: 'BIOS Date: 01/02/2030 Ver 9.9' },
    taskAnswer: 'message',
    updates: ['push'],
    updateTargets: 'owner',
    bios: { place: 'SD', isNamed: true, lists: 'all', applyTimes: [] },
    log: { at: 'system', id: 'Log1', type: 'SEL', order: 'oldest first', members: 'whole' },
  },
  lenovo: {
    ...STANDARD,
    root: { Vendor: 'Lenovo', Oem: { Lenovo: {} } },
    manufacturer: 'Lenovo',
    resetsListed: 'info',
    bootLengths: ['Disabled', 'Once'],
    listsLengths: false,
    needsIfMatch: true,
    updateTargets: 'none',
    moreFirmware: { 'BMC-Backup': '5.00', 'UEFI-Pending': '9.99' },
    bios: { place: 'Pending', isNamed: false, lists: 'all', applyTimes: [] },
    indicator: { at: 'system', form: 'blinks' },
    pageOf: 3,
    httpBoot: 'forgotten',
    success: 'task',
    log: { at: 'system', id: 'PlatformLog', type: 'Event', order: 'newest first', members: 'whole' },
  },
  openbmc: {
    ...STANDARD,
    root: { Links: { ManagerProvidingService: { '@odata.id': '/redfish/v1/Managers/bmc' } } },
    firmwareKnownBy: 'purpose',
    consoleSocket: true,
    systemId: 'system',
    manufacturer: '',
    resetsListed: 'info',
    bootTargets: [],
    resets: [
      'On',
      'ForceOff',
      'ForceOn',
      'ForceRestart',
      'GracefulRestart',
      'GracefulShutdown',
      'PowerCycle',
      'Nmi',
    ],
    indicator: { at: 'chassis', form: 'location' },
    powerLimit: 'none',
    httpBoot: 'refused',
    taskAnswer: 'task',
    bios: { place: 'Settings', isNamed: false, lists: 'all', applyTimes: [] },
    sensorsAt: 'collection',
    log: { at: 'system', id: 'EventLog', type: 'Event', order: 'oldest first', members: 'whole' },
  },
  nvidia: {
    ...STANDARD,
    root: { Vendor: 'NVIDIA', Product: 'GB200 NVL' },
    systemId: 'System_0',
    manufacturer: 'NVIDIA',
    moreSystems: ['HGX_Baseboard_0'],
    gpusAt: 'board',
    media: { demanded: ['TransferProtocolType', 'TransferMethod'], refused: [] },
    taskAnswer: 'body',
    updates: ['simple'],
    powerLimit: 'metrics',
    bootAt: 'settings',
    needsIfMatch: true,
    etag: 'none',
    sensorsAt: 'subsystems',
  },
  ami: {
    ...STANDARD,
    root: { Vendor: 'AMI', Product: 'AMI Redfish Server' },
    systemId: 'DGX',
    manufacturer: 'NVIDIA',
    moreSystems: ['HGX_Baseboard_0'],
    gpusAt: 'board',
    media: { demanded: ['UserName', 'Password'], refused: [] },
    bootAt: 'settings',
    needsIfMatch: true,
    etag: 'weak',
    bios: { place: 'SD', isNamed: false, lists: 'all', applyTimes: [] },
  },
  'behind-a-proxy': { ...STANDARD, needsIfMatch: true, etag: 'gzip', compresses: true },
  'old-firmware': { ...STANDARD, bootAt: 'nowhere' },
  'no-sessions': { ...STANDARD, hasSessions: false },
  'sushy-tools': { ...STANDARD, hasSessions: false, isGated: true },
} as const satisfies Record<string, VendorShape>;

export type VendorName = keyof typeof VENDOR_SHAPES;
export const VENDOR_NAMES = Object.keys(VENDOR_SHAPES) as VendorName[];
