// Who may open pages.

/** Anyone, for this reason. */
export const open = (because: string) => ({ access: { by: 'anyone', because }, audience: 'page' }) as const
/** Users who are signed in. */
export const own = { access: { by: 'session' }, audience: 'page' } as const
/** Users who are signed in, while a step of the sign-in is outstanding. */
export const demanded = { access: { by: 'session', whileDemanded: true }, audience: 'page' } as const
/** Users who are signed in; others are sent back to the page of the form. */
export const formOf = (page: string) => ({ access: { by: 'session', formOf: page }, audience: 'page' }) as const
