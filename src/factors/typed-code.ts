import { normalized } from '../base/text/normalized.ts'

/** Longer than any code, spaces included. */
const MAX_LENGTH = 40

/**
 * Normalizes typed or pasted input: removes spaces and dashes of any kind, and converts full-width digits and letters of a
 * Japanese or Chinese keyboard to plain ones; empty if it is too long to be a code. Such a keyboard turns a hyphen into the
 * mark for long vowels.
 */
export const withoutSeparators = (entered: string): string =>
  entered.length > MAX_LENGTH ? '' : normalized(entered, 'NFKC').replace(/[\s\p{Dash}ー]/gu, '')
