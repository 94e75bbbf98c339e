import { type ReactNode, useId } from 'react';
import type { AnswerField, FieldValue } from './answer-fields.js';

export interface FieldsProps {
  readonly fields: readonly AnswerField[];
  readonly values: Readonly<Record<string, FieldValue | undefined>>;
  readonly faults: Readonly<Record<string, string>>;
  readonly onChange: (key: string, value: FieldValue) => void;
}

/** The fields that a question asks for. */
export function AnswerFields({ fields, values, faults, onChange }: FieldsProps): ReactNode {
  return fields.map((field) => (
    <Field
      key={field.key}
      field={field}
      value={values[field.key] ?? field.initial}
      fault={faults[field.key]}
      onChange={(value) => onChange(field.key, value)}
    />
  ));
}

interface FieldProps {
  readonly field: AnswerField;
  readonly value: FieldValue;
  readonly fault: string | undefined;
  readonly onChange: (value: FieldValue) => void;
}

function Field({ field, value, fault, onChange }: FieldProps): ReactNode {
  const id = useId();
  const isGroup = field.kind === 'many' || (field.kind === 'one' && field.choices.length <= 6);
  const about = `${id}-about`;
  const note = (
    <span id={about}>
      {field.hint !== '' && <span className="quiet">{field.hint}</span>}
      {fault !== undefined && <span className="fault">{fault}</span>}
    </span>
  );
  if (isGroup)
    return (
      <fieldset className="field" aria-describedby={about}>
        <legend>
          {field.label}
          {!field.required && <span className="quiet"> optional</span>}
        </legend>
        {field.choices.map((choice) => (
          <label key={choice.key} className="choice">
            <input
              type={field.kind === 'many' ? 'checkbox' : 'radio'}
              name={id}
              checked={field.kind === 'many' ? isList(value) && value.includes(choice.key) : value === choice.key}
              onChange={(event) =>
                onChange(field.kind === 'many' ? toggled(value, choice.key, event.target.checked) : choice.key)
              }
            />
            <span>
              {choice.label}
              {choice.hint !== undefined && <span className="quiet"> {choice.hint}</span>}
            </span>
          </label>
        ))}
        {note}
      </fieldset>
    );
  if (field.kind === 'flag')
    return (
      <div className="field">
        <label className="choice">
          <input
            type="checkbox"
            checked={value === true}
            aria-describedby={about}
            onChange={(event) => onChange(event.target.checked)}
          />
          <span>{field.label}</span>
        </label>
        {note}
      </div>
    );
  const text = typeof value === 'string' ? value : '';
  const shared = { id, 'aria-describedby': about, 'aria-invalid': fault !== undefined, value: text };
  return (
    <div className="field">
      <label htmlFor={id}>
        {field.label}
        {!field.required && <span className="quiet"> optional</span>}
      </label>
      {field.kind === 'one' ? (
        <select {...shared} onChange={(event) => onChange(event.target.value)}>
          <option value="">Choose…</option>
          {field.choices.map((choice) => (
            <option key={choice.key} value={choice.key}>
              {choice.label}
            </option>
          ))}
        </select>
      ) : field.kind === 'long' || field.kind === 'json' ? (
        <textarea {...shared} rows={field.kind === 'json' ? 4 : 2} onChange={(event) => onChange(event.target.value)} />
      ) : (
        <input
          {...shared}
          type={field.kind === 'secret' ? 'password' : 'text'}
          inputMode={field.kind === 'number' ? 'decimal' : undefined}
          autoComplete="off"
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      {note}
    </div>
  );
}

const isList = (value: FieldValue): value is readonly string[] => Array.isArray(value);

function toggled(value: FieldValue, key: string, isOn: boolean): readonly string[] {
  const others = isList(value) ? value.filter((one) => one !== key) : [];
  return isOn ? [...others, key] : others;
}
