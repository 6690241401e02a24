import type { Attack } from './attack.ts'

/** Tokens and clients must not be worth more than they say. */
export const tokenAttacks: readonly Attack[] = []
