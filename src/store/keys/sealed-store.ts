/** Values sealed under the master key; keys of the server come last. */
export const SEALED_KINDS = [
  'signing-key',
  'provider',
  'saml-key',
  'one-time-passwords',
  'session',
  'mail',
  'server-key',
] as const

/** One of `SEALED_KINDS`. */
export type SealedKind = (typeof SEALED_KINDS)[number]

/** A column with a sealed value, or with JSON that has such values: settings of a `provider` and of a zone (`saml-key`). */
export interface SealedRow {
  /** The zone; for a key of the server, its name. */
  readonly zoneId: string
  readonly id: string
  readonly sealed: string
  /** For a `provider` its origin key, for a `session` its salt. */
  readonly about: string
}

/** All sealed values, to be sealed again. */
export interface SealedStore {
  /** Keyset pagination: a row that exists throughout is returned exactly once. */
  page(
    kind: SealedKind,
    page: { readonly count: number; readonly after?: SealedRow | undefined },
  ): Promise<readonly SealedRow[]>
  /** Replaces the values that are still what was read, in one transaction; returns their number. */
  replace(kind: SealedKind, changes: readonly (SealedRow & { readonly replacement: string })[]): Promise<number>
}
