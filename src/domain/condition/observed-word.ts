/**
 * The words in which the states that upstreams report are recorded and shown. They are stored and part of the API, so every
 * upstream uses this one set; drift.ts says what follows from each.
 */
export type ObservedWord =
  | 'New'
  | 'Commissioning'
  | 'Failed commissioning'
  | 'Testing'
  | 'Failed testing'
  | 'Ready'
  | 'Allocated'
  | 'Reserved'
  | 'Deploying'
  | 'Deployed'
  | 'Failed deployment'
  | 'Releasing'
  | 'Releasing failed'
  | 'Disk erasing'
  | 'Failed disk erasing'
  | 'Broken'
  | 'Retired'
  | 'Missing'
  | 'Unknown';
