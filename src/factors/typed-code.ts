import { normalized } from '../base/normalized.ts'

/** More than any code has, blanks included. */
const MAX_LENGTH = 40

/**
 * What the user typed or pasted, without blanks and dashes of any kind, and with plain digits and letters for those of full
 * width that a Japanese or Chinese keyboard makes; empty for what is too long to be a code. The mark for long vowels is what
 * such a keyboard makes of a hyphen.
 */
export const withoutSeparators = (entered: string): string =>
  entered.length > MAX_LENGTH ? '' : normalized(entered, 'NFKC').replace(/[\s\p{Dash}ー]/gu, '')
