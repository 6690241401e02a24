// The pages for managing second factors in every distinct visual state.
import type { Html } from '../../src/base/html.ts'
import type { Passkey, Totp } from '../../src/model/users/passkey.ts'
import type { Chrome } from '../../src/pages/parts/layout.ts'
import {
  newPasskeyPage,
  offerPage,
  removeFactorPage,
  renamePasskeyPage,
  renewCodesPage,
} from '../../src/pages/accounts/security-forms.ts'
import { securityPage } from '../../src/pages/accounts/security.ts'
import type { SecurityProps } from '../../src/pages/accounts/security.ts'
import { securityTexts } from '../../src/pages/texts/security-texts.ts'

const now = new Date('2026-01-15T12:00:00Z')
const passkey: Passkey = {
  id: 'k1',
  userId: 'u1',
  credentialId: 'c1',
  publicKey: '',
  counter: 0,
  transports: ['internal'],
  aaguid: '',
  isBackedUp: true,
  isAttested: false,
  hasVerifiedUser: true,
  name: 'Chrome on Linux',
  createdAt: new Date('2026-01-03T12:00:00Z'),
  lastUsedAt: new Date('2026-01-15T10:00:00Z'),
}
const { lastUsedAt: _, ...unused } = passkey
const totp: Totp = { sealedSecret: '', lastStep: 0, createdAt: passkey.createdAt }
const path = '/profile/security'
const empty: SecurityProps = {
  path,
  passkeys: [],
  totp: undefined,
  codes: { recovery: 0 },
  codesInSet: 10,
  counting: ['passkey', 'totp'],
  mayAddPasskey: true,
  remembersDevices: true,
  now,
}
const full: SecurityProps = {
  ...empty,
  passkeys: [passkey, { ...unused, id: 'k2' }],
  totp,
  codes: { recovery: 7, recoveryCreatedAt: passkey.createdAt },
}

/** The states for a signed-in user; `hostile` is used for names chosen by others. */
export function securityStatesIn(chrome: Chrome, crowded: Chrome, hostile: string): Readonly<Record<string, Html>> {
  const { tooMany, badName, done } = securityTexts(chrome.texts)
  const long = { ...passkey, name: hostile }
  const form = { action: `${path}/rename`, back: path, name: 'Phone' }
  const removal = { action: `${path}/remove`, back: path }
  const offer = { add: `${path}/passkey`, decline: `${path}/offer`, options: {}, name: 'Phone' }
  return {
    security: securityPage(chrome, { ...full, message: { kind: 'success', text: done.passkey_added } }),
    'security-empty': securityPage(chrome, empty),
    'security-long': securityPage(crowded, {
      ...full,
      passkeys: [long],
      mayAddPasskey: false,
      codes: { recovery: 0 },
      counting: ['passkey'],
    }),
    'security-passkey': newPasskeyPage(chrome, { ...form, options: {}, problem: tooMany }),
    'security-rename': renamePasskeyPage(crowded, { ...form, id: 'k1', name: hostile, problem: badName }),
    'security-remove': removeFactorPage(crowded, { ...removal, passkey: long, leaves: 'none' }),
    'security-remove-app': removeFactorPage(chrome, { ...removal, leaves: 'others' }),
    'security-remove-needed': removeFactorPage(chrome, { ...removal, passkey, leaves: 'too few' }),
    'security-codes': renewCodesPage(chrome, { action: `${path}/codes`, back: path }),
    'security-offer': offerPage(chrome, offer),
  }
}
