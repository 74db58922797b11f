/** The audit log: what people did, as sentences, and every event. */
import { useState } from 'react';
import { useLocation } from 'wouter';
import '../../styles/audit.css';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { useUrlParam } from '../../ui/use-url-param.ts';
import { EventLog, useEventFilter } from './event-log.tsx';
import { EXPORT_FORMATS, type ExportFormat, exportEvents } from './export-events.ts';
import { PeopleLog, usePeopleFilter } from './people-log.tsx';

const TABS = { people: 'What people did', events: 'Every event' } as const;

export function AuditPage() {
  const [view] = useUrlParam('view');
  const ofEvents = useEventFilter();
  const ofPeople = usePeopleFilter();
  const [, navigate] = useLocation();
  // A link with a filter is one to the events that match it.
  const shown = view === 'events' || ofEvents !== '' ? 'events' : 'people';
  return (
    <>
      <PageTitle title="Audit" actions={<Export filter={shown === 'events' ? ofEvents : ofPeople} />} />
      <Tabs
        label="Audit"
        tabs={TABS}
        shown={shown}
        onShow={(tab) => navigate(tab === 'events' ? '/audit?view=events' : '/audit')}
      >
        {shown === 'events' ? <EventLog /> : <PeopleLog />}
      </Tabs>
    </>
  );
}

function Export({ filter }: { filter: string }) {
  const { notify, notifyFailure } = useToasts();
  const [running, setRunning] = useState(false);
  const run = async (format: ExportFormat) => {
    setRunning(true);
    try {
      notify(`Exported ${await exportEvents(filter, format)} events`);
    } catch (error) {
      notifyFailure('Failed to export events', error);
    } finally {
      setRunning(false);
    }
  };
  return Object.entries(EXPORT_FORMATS).map(([format, { text }]) => (
    <Button
      key={format}
      onClick={() => void run(format as ExportFormat)}
      disabledBecause={running ? 'Export in progress.' : ''}
    >
      <Icon name="download" /> {text}
    </Button>
  ));
}
