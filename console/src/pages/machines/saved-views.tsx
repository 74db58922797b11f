/** Saved views: what the page shows, under a name. They are stored on the server, for the caller alone or shared in its scope. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import type { View } from '../../../../src/gen/baremetal/fleet/v1/view_service_pb.ts';
import { views } from '../../api/clients.ts';
import { METHODS, useForbidden } from '../../identity.tsx';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Menu } from '../../ui/menu.tsx';
import { useToasts } from '../../ui/toasts.tsx';

const KEY = ['views', 'machines'] as const;
const PAGE = 'machines';

const TROUBLE = 'needs_attention=true';

/** What everyone looks for. */
const BUILT_IN = {
  'All, trouble first': '',
  'Needs attention': `filter=${encodeURIComponent(TROUBLE)}`,
  'Working now': 'filter=effective_state%3DBUSY',
  'In maintenance': 'filter=phase%3DMAINTENANCE',
  'By rack': 'group=location.rack',
} as const;

export function SavedViews() {
  const [, navigate] = useLocation();
  const list = useQuery({
    queryKey: KEY,
    queryFn: async () => (await views.listViews({ page: PAGE })).views,
  });
  const open = (query: string) => navigate(query === '' ? '/machines' : `/machines?${query}`);
  const saved = list.data ?? [];
  return (
    <Menu
      label="Views"
      button={
        <>
          <Icon name="star" /> Views
        </>
      }
    >
      <div className="menu-section">
        {Object.entries(BUILT_IN).map(([name, query]) => (
          <button key={name} type="button" className="menu-item" onClick={() => open(query)}>
            {name}
          </button>
        ))}
      </div>
      {saved.length > 0 && (
        <div className="menu-section">
          {saved.map((view) => (
            <SavedView key={`${view.name} ${view.shared} ${view.createdBy}`} view={view} onOpen={open} />
          ))}
        </div>
      )}
      <SaveForm />
    </Menu>
  );
}

function SavedView({ view, onOpen }: { view: View; onOpen: (query: string) => void }) {
  const queries = useQueryClient();
  const { notifyFailure } = useToasts();
  const forbidden = useForbidden();
  const { page, name, shared } = view;
  const remove = useMutation({
    mutationFn: () => (shared ? views.unshareView({ page, name }) : views.deleteView({ page, name })),
    onSuccess: () => queries.invalidateQueries({ queryKey: KEY }),
    onError: (error) => notifyFailure(`${name} is not deleted`, error),
  });
  return (
    <div className="row saved-view">
      <button type="button" className="menu-item" onClick={() => onOpen(view.query)}>
        <span>{name}</span>
        {shared && <span className="soft">shared by {view.createdBy}</span>}
      </button>
      <Button
        kind="quiet"
        label={`Delete view ${name}`}
        disabledBecause={shared ? forbidden('operator', METHODS.shareViews) : ''}
        onClick={() => remove.mutate()}
      >
        <Icon name="cross" />
      </Button>
    </div>
  );
}

function SaveForm() {
  const query = useSearch();
  const [name, setName] = useState('');
  const queries = useQueryClient();
  const { notify, notifyFailure } = useToasts();
  const forbidden = useForbidden();
  const save = useMutation({
    mutationFn: (how: 'own' | 'shared') => {
      const view = { page: PAGE, name: name.trim(), query };
      return how === 'own' ? views.saveView(view) : views.shareView(view);
    },
    onSuccess: (view) => {
      notify(view.shared ? `View ${view.name} is shared` : `View ${view.name} is saved`);
      setName('');
      return queries.invalidateQueries({ queryKey: KEY });
    },
    onError: (error) => notifyFailure('The view is not saved', error),
  });
  const missing = name.trim() === '' ? 'Enter a name.' : '';
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (missing === '') save.mutate('own');
  };
  return (
    <form className="menu-section" onSubmit={submit}>
      <label className="field">
        <span>Save what is shown as</span>
        <input
          className="input"
          maxLength={60}
          autoComplete="off"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      <div className="row">
        <Button type="submit" disabledBecause={missing}>
          Save for me
        </Button>
        <Button
          disabledBecause={missing || forbidden('operator', METHODS.shareViews)}
          onClick={() => save.mutate('shared')}
        >
          Share
        </Button>
      </div>
    </form>
  );
}
