import assert from 'node:assert/strict'
import { it } from 'node:test'
import { OutboundBusy } from '../../src/base/outbound.ts'
import { createProviderLogout } from '../../src/identity/provider-logout.ts'
import type { SignOut } from '../../src/identity/provider-logout.ts'

it('signOut does without the provider while too many requests are in progress, and hides no fault', async () => {
  let cause: Error = new OutboundBusy('https://idp.example')
  const parts = {
    store: { providers: { findByOrigin: () => Promise.resolve({ active: true }) } },
    open: () => Promise.resolve({ signOut: () => Promise.reject(cause) }),
  } as unknown as Parameters<typeof createProviderLogout>[0] // the members that are used
  const logout = createProviderLogout(parts)
  const leaving = { zone: { id: 'svc' } } as SignOut // the rest does not matter

  assert.equal(await logout.signOut('corp', leaving), undefined)
  cause = new Error('a fault')
  await assert.rejects(logout.signOut('corp', leaving), /a fault/)
})
