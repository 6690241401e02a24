import type { Attack } from './attack.ts'

/** Cookies, forms and logout must not be usable by another site. */
export const sessionAttacks: readonly Attack[] = []
