/** Inputs for names that the server has a list of. */
import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import { admin, plans } from '../../api/clients.ts';
import { failureOf } from '../../api/failure.ts';
import { rest } from '../../api/rest.ts';
import { SelectField } from '../../ui/select-field.tsx';
import { imageFault } from './action-form.ts';

export interface CatalogFieldProps {
  readonly title: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function ImageField({ title, value, onChange }: CatalogFieldProps) {
  const id = useId();
  const images = useQuery({
    queryKey: ['images'],
    queryFn: async () => (await rest<{ data: { name: string }[] }>('GET', '/api/v1/images')).data,
  });
  const fault = imageFault(value);
  return (
    <div>
      <label className="field">
        <span>{title}</span>
        <input
          className="input mono"
          list={id}
          spellCheck={false}
          aria-invalid={fault !== '' || undefined}
          aria-describedby={`${id}-hint`}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      </label>
      <datalist id={id}>
        {images.data?.map((image) => (
          <option key={image.name} value={image.name} />
        ))}
      </datalist>
      <p id={`${id}-hint`} className={fault === '' ? 'hint soft' : 'hint fault'}>
        {fault ||
          (images.isError
            ? `Failed to load images: ${failureOf(images.error).message}. Enter a name.`
            : images.data &&
              'Leave it empty for the default image. The provider may accept names that are not in the list.')}
      </p>
    </div>
  );
}

export function PoolField({ title, value, onChange }: CatalogFieldProps) {
  const pools = useQuery({
    queryKey: ['pools'],
    queryFn: async () => (await admin.listPools({})).pools.map(({ name }) => name),
  });
  return (
    <SelectField
      title={title}
      value={value}
      onChange={onChange}
      options={pools.data ?? []}
      none="Select a pool"
      fault={
        pools.isError
          ? failureOf(pools.error).message
          : pools.data?.length === 0
            ? 'No pools. An admin creates one with: ingot pool create <name>'
            : ''
      }
    />
  );
}

export function PlanField({ title, value, onChange }: CatalogFieldProps) {
  const known = useQuery({
    queryKey: ['plans', 'ids'],
    queryFn: async () => (await plans.listPlans({})).plans.map(({ planId }) => planId),
  });
  return (
    <SelectField
      title={title}
      value={value}
      onChange={onChange}
      options={known.data ?? []}
      none="Select a plan"
      fault={known.isError ? failureOf(known.error).message : ''}
    />
  );
}
