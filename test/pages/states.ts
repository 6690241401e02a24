// Every page in every distinct visual state, for tests in a browser.
import { crc32, deflateSync } from 'node:zlib'
import type { Html } from '../../src/base/html.ts'
import type { Language } from '../../src/model/language.ts'
import { accountChoicePage } from '../../src/pages/sign-in/account-choice.ts'
import { accountChooserPage } from '../../src/pages/sign-in/account-chooser.ts'
import { approvalPage } from '../../src/pages/approval.ts'
import type { ScopeChoice } from '../../src/pages/approval.ts'
import { activationSentPage, createAccountPage, verifyAccountPage } from '../../src/pages/accounts/create-account.ts'
import { changeEmailPage, emailSentPage, verifyEmailPage } from '../../src/pages/accounts/change-email.ts'
import { changePasswordPage } from '../../src/pages/accounts/change-password.ts'
import { describedIn, errorPage } from '../../src/pages/error.ts'
import { forgottenPasswordPage, resetPasswordPage } from '../../src/pages/accounts/forgotten-password.ts'
import { invitationPage } from '../../src/pages/accounts/invitation.ts'
import { forcePasswordChangePage } from '../../src/pages/accounts/force-password-change.ts'
import { homePage } from '../../src/pages/home.ts'
import type { Chrome } from '../../src/pages/parts/layout.ts'
import { discoveryEmailPage, discoveryPasswordPage, originPage } from '../../src/pages/sign-in/idp-discovery.ts'
import { loginPage } from '../../src/pages/sign-in/login.ts'
import type { LoginProps } from '../../src/pages/sign-in/login.ts'
import { logoutConfirmationPage } from '../../src/pages/logout-confirmation.ts'
import { messageFor } from '../../src/pages/parts/messages.ts'
import { deviceCodePage, deviceDecisionPage, deviceDonePage } from '../../src/pages/device.ts'
import { outboxPage } from '../../src/pages/outbox.ts'
import { passcodeOfferPage, passcodePage } from '../../src/pages/passcode.ts'
import { profileMessage, profilePage } from '../../src/pages/accounts/profile.ts'
import type { ProfileProps } from '../../src/pages/accounts/profile.ts'
import { appPage, enrolPage, provePage, recoveryCodesPage } from '../../src/pages/sign-in/second-factor.ts'
import { signedOutPage } from '../../src/pages/signed-out.ts'
import { factorTexts } from '../../src/pages/texts/factor-texts.ts'
import { referenceTexts, textsIn } from '../../src/pages/texts/texts.ts'
import { componentsPage } from './components-page.ts'
import { securityStatesIn } from './security-states.ts'

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const frame = Buffer.alloc(body.length + 8)
  frame.writeUInt32BE(data.length)
  body.copy(frame, 4)
  frame.writeUInt32BE(crc32(body), body.length + 4)
  return frame
}

/** A plain picture in base64. */
export function png(width: number, height: number, [red, green, blue]: readonly [number, number, number]): string {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width)
  header.writeUInt32BE(height, 4)
  header.set([8, 2], 8) // eight bits of each colour, no transparency
  const row = Buffer.from([0, ...Array.from({ length: width }, () => [red, green, blue]).flat()])
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)))
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ]).toString('base64')
}

/** The layout of a page for an anonymous visitor. */
export const anonymous: Chrome = {
  texts: textsIn('en'),
  zoneName: 'svc',
  isDefaultZone: true,
  branding: {},
  basePath: '',
  assets: {
    stylesheet: '/assets/latchkey.css',
    icon: '/assets/icon.svg',
    script: '/assets/latchkey.js',
    formPostScript: '/assets/form-post.js',
    fragmentPostScript: '/assets/fragment-post.js',
    logoutFramesScript: '/assets/logout-frames.js',
    passkeyScript: '/assets/passkeys.js',
    factorStylesheet: '/assets/factors.css',
  },
  csrf: { name: 'X-Svc-Csrf', value: 'q1w2e3r4t5y6u7i8o9p0aA' },
  year: 2026,
  about: 'Version: 1.2.3, Server: https://id.example',
}

/** The layout of a page for a signed-in user. */
export const signedIn: Chrome = {
  ...anonymous,
  user: { userName: 'marissa', signOutAction: '/logout.do', lastSignIn: new Date('2026-01-02T03:04:05Z') },
}

const reference: Chrome = { ...anonymous, texts: referenceTexts, basePath: '/uaa' }
const referenceSignedIn: Chrome = { ...signedIn, texts: referenceTexts, basePath: '/uaa' }

/** No supported language is written from right to left yet; this tests the layout. */
const rightToLeft = (chrome: Chrome): Chrome => ({ ...chrome, texts: { ...chrome.texts, tag: 'ar' } })

const branded: Chrome = {
  ...anonymous,
  zoneName: 'Harbour Authority',
  isDefaultZone: false,
  branding: {
    companyName: 'Harbour Authority',
    footerLegalText: 'Operated by the Harbour Authority. Use is recorded.',
    footerLinks: { Privacy: 'https://example.org/privacy', 'Terms of use': 'https://example.org/terms' },
    banner: {
      text: 'Maintenance on Sunday from 6 to 8',
      link: 'https://example.org/status',
      backgroundColor: '#ffd54a',
    },
  },
  // As the pages of an unknown host, which has no files: the images are in the page.
  assets: {
    ...anonymous.assets,
    zoneStylesheet: '/zone.css',
    productLogo: `data:image/png;base64,${png(200, 40, [27, 54, 120])}`,
    squareLogo: `data:image/png;base64,${png(32, 32, [27, 54, 120])}`,
  },
}

const prompts = [
  { name: 'username', type: 'text', text: 'Email' },
  { name: 'password', type: 'password', text: 'Password' },
  { name: 'passcode', type: 'password', text: 'One-time code (get one at http://localhost:8080/passcode)' },
]
const links = { createAccount: '/create_account', resetPassword: '/forgot_password' }
const login: LoginProps = { prompts, links, providers: [] }
const providers = [
  { name: 'Company directory', url: '/saml2/authenticate/directory' },
  { name: 'Harbour Single Sign-On', url: 'https://sso.example.org/authorize?client_id=1&state=2' },
]

const scopes: readonly ScopeChoice[] = [
  { name: 'scope.0', value: 'scope.openid', text: 'Know who you are', state: 'undecided' },
  { name: 'scope.1', value: 'scope.cloud.read', text: 'Read the cloud', state: 'undecided' },
  { name: 'scope.2', value: 'scope.profile', text: 'profile', state: 'approved' },
  { name: 'scope.3', value: 'scope.cloud.write', text: 'Change what runs in the cloud', state: 'denied' },
]
const approval = {
  clientName: 'Cloud Console',
  redirectUri: 'https://console.example.org/callback?x=1',
  userName: 'marissa',
  action: '/oauth/authorize?response_type=code&client_id=app',
  formRedirectUri: 'http://localhost:8080/oauth/authorize?response_type=code&client_id=app',
  scopes,
}

/** Of an application that registered itself. */
const registeredApproval = {
  ...approval,
  links: {
    website: 'https://console.example.org/',
    policy: 'https://console.example.org/privacy',
    terms: 'https://terms.example.net/console',
  },
  registeredUris: [approval.redirectUri, 'https://staging.example.org/callback'],
}

const long = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'
const hostile = `"><script src=/x.js></script><img src=x onerror=alert(1)> \u202egnp.exe ${long.repeat(3)} مرحبا بالعالم`
const crowded: Chrome = {
  ...signedIn,
  zoneName: hostile,
  isDefaultZone: false,
  branding: {
    companyName: hostile,
    footerLegalText: hostile,
    footerLinks: { [long]: 'https://example.org/', [hostile]: 'https://example.org/' },
    banner: { text: hostile, textColor: '#777777' },
  },
  user: { userName: hostile, signOutAction: '/logout.do' },
}
const { user: _, ...crowdedAnonymous } = crowded

const newPassword = {
  action: '/force_password_change',
  userName: 'marissa',
  email: 'marissa@example.org',
  demands: [
    'Password must be at least 8 characters in length.',
    'Password must contain at least 1 uppercase characters.',
    'Password must contain at least 2 digit characters.',
  ],
}

const invitation = {
  action: '/invitations/accept.do',
  invitation: {
    code: 'kZOkch1ZDwiy389HfbCcjZoyO4fInO4p',
    email: 'kai@shop.example',
    userName: 'kai@shop.example',
    step: 'password' as const,
    demands: newPassword.demands,
    consents: false,
  },
}
const consenting = { ...anonymous.branding, consent: { text: 'the terms of use', link: 'https://terms.example/' } }

const reset = {
  code: 'abc',
  userName: 'kai@shop.example',
  email: 'kai@shop.example',
  demands: ['Password must be at least 8 characters in length.'],
}
const email = { current: 'kai@shop.example', newEmail: '', clientId: '', redirectUri: '' }
const signUp = { email: '', clientId: 'app', redirectUri: '', demands: newPassword.demands, consents: false }

const tiles = [
  { name: 'Cloud Console', url: 'https://console.example.org/' },
  { name: 'Ledger', url: 'https://ledger.example.org/', icon: png(44, 44, [120, 54, 27]) },
  { name: 'Berth planning and pilotage', url: 'https://berths.example.org/' },
  { name: 'Wiki', url: 'https://wiki.example.org/' },
]

const now = new Date('2026-03-02T12:00:00Z')
const before = (minutes: number): Date => new Date(now.getTime() - minutes * 60_000)
const session = { handle: 'h1', address: '203.0.113.9', signedInAt: before(140), lastSeenAt: now, isCurrent: true }
const other = { ...session, handle: 'h2', signedInAt: before(61), lastSeenAt: before(1), isCurrent: false }
const happened = { at: before(140), byOther: false, device: 'Firefox on Windows', address: '203.0.113.9' }
const profile: ProfileProps = {
  userName: 'marissa',
  email: 'marissa@example.org',
  names: { givenName: 'Marissa', familyName: 'Bloggs', displayName: '' },
  mayChange: { names: true, language: true },
  changeEmail: '/change_email',
  changePassword: '/change_password',
  passwordChangedAt: before(1600),
  signsInWithPasskey: false,
  clients: [
    {
      clientId: 'console',
      name: 'Cloud Console',
      scopes: [
        { scope: 'cloud.read', text: 'Read the cloud', approved: true },
        { scope: 'cloud.write', text: 'cloud.write', approved: false },
      ],
    },
    { clientId: 'wiki', name: 'Wiki', scopes: [{ scope: 'openid', text: 'Know who you are', approved: true }] },
  ],
  devices: [
    { name: 'Firefox on Windows', sessions: [session, { ...other, handle: 'h4', address: '192.0.2.44' }] },
    { name: 'Safari on iPhone', sessions: [{ ...other, address: '2001:db8:1f2e:3a::17' }] },
    { name: 'Unknown browser', sessions: [{ ...other, handle: 'h3', address: undefined }] },
  ],
  events: [
    { ...happened, type: 'signed-in', clientName: 'Cloud Console' },
    { ...happened, type: 'sign-in-failed', at: before(150), device: 'Chrome on Linux', address: '2001:db8:ffff::2' },
    { type: 'password-changed', at: before(1600), byOther: true },
    { ...happened, type: 'email-changed', at: before(3000) },
    { ...happened, type: 'details-changed', at: before(6000) },
    { ...happened, type: 'sessions-ended', at: before(9000) },
    { ...happened, type: 'access-changed', clientName: 'Wiki', at: before(12_000) },
    { ...happened, type: 'access-revoked', clientName: 'Cloud Console', at: before(90_000) },
    { type: 'unlocked', at: before(120_000), byOther: true },
  ],
  now,
}
const hostileProfile: ProfileProps = {
  ...profile,
  userName: hostile,
  email: `${long}@example.org`,
  names: { givenName: hostile, familyName: long, displayName: hostile },
  changeEmail: '/change_email',
  changePassword: '/change_password',
  message: { kind: 'error', text: hostile },
  clients: [{ clientId: long, name: hostile, scopes: [{ scope: long, text: hostile, approved: true }] }],
  devices: [{ name: hostile, sessions: [session, { ...other, handle: hostile, address: hostile }] }],
  events: [{ ...happened, type: 'access-revoked', device: hostile, address: hostile, clientName: hostile }],
}
const externalProfile: ProfileProps = {
  ...profile,
  mayChange: { names: false, language: true },
  changeEmail: undefined,
  changePassword: undefined,
  language: 'de',
  provider: { name: 'Harbour Directory', origin: 'ldap', externalId: 'uid=marissa,ou=people,dc=harbour,dc=example' },
}
const account = {
  userId: 'u1',
  userName: 'marissa',
  origin: 'svc',
  email: 'marissa',
  loginHint: '%7B%22origin%22:%22svc%22%7D',
}

const factor = { action: '/second_factor', rememberDays: 30, isStuck: false, isBypass: false } as const

const firstFactor = {
  passkey: { action: '/second_factor/passkey', options: { challenge: 'AAAA', rp: { name: 'Harbour "&" Sons' } } },
  app: '/second_factor/app',
  code: '/second_factor?way=recovery',
  isStepUp: false,
} as const

const authenticatorApp = {
  action: '/second_factor/app',
  back: '/second_factor',
  secret: {
    text: 'BSGB H62K 2DZC POP7 S3EK W44Q BZ5R WH4L',
    uri: 'otpauth://totp/Harbour:marissa?secret=BSGBH62K2DZCPOP7S3EKW44QBZ5RWH4L&issuer=Harbour',
    code: Array.from({ length: 45 }, (_, y) => Array.from({ length: 45 }, (__, x) => (x * y) % 3 === 0)),
    sealed: 'v1.c2VhbGVk',
  },
} as const

const codes = Array.from({ length: 10 }, (_, index) => `YTYA-CNC${index}-D6WX`)

/** Every page in a language, by name, which is also a file name. What follows `#` is the fragment of its URL. */
export function statesIn(language: Language): Readonly<Record<string, Html>> {
  const texts = textsIn(language)
  const localized = (chrome: Chrome): Chrome => ({ ...chrome, texts })
  return {
    'discovery-email': discoveryEmailPage(localized(anonymous), {
      clientName: 'Cloud Console',
      email: 'marissa@example.org',
      createAccount: '/create_account',
    }),
    'discovery-email-long': discoveryEmailPage(localized(crowdedAnonymous), {
      clientName: hostile,
      email: hostile,
      loginHint: hostile,
      createAccount: '/create_account',
      message: { kind: 'error', text: hostile },
    }),
    'discovery-password': discoveryPasswordPage(localized(anonymous), {
      userName: 'marissa@example.org',
      loginHint: '{"origin":"svc"}',
      resetPassword: '/forgot_password',
    }),
    'discovery-password-long': discoveryPasswordPage(localized(crowdedAnonymous), {
      clientName: hostile,
      userName: hostile,
      loginHint: hostile,
    }),
    origin: originPage(localized(anonymous), { hasDefault: false }),
    'origin-default': originPage(localized(branded), { hasDefault: true, clientName: 'Berth planning' }),
    'origin-long': originPage(localized(crowdedAnonymous), {
      hasDefault: true,
      clientName: hostile,
      message: { kind: 'error', text: hostile },
    }),
    login: loginPage(localized(anonymous), login),
    'login-client': loginPage(localized(anonymous), {
      ...login,
      clientName: 'Cloud Console',
      formRedirectUri: 'http://localhost/',
    }),
    'login-failed': loginPage(localized(anonymous), {
      ...login,
      userName: 'marissa@example.org',
      message: messageFor(texts, 'error', 'login_failure'),
    }),
    'login-success': loginPage(localized(anonymous), {
      ...login,
      links: {},
      message: messageFor(texts, 'success', 'password_reset'),
    }),
    'login-providers': loginPage(localized(branded), { ...login, clientName: 'Berth planning', providers }),
    'login-passkeys': loginPage(localized(branded), {
      ...login,
      takesPasskeys: true,
      formRedirectUri: hostile,
      providers,
    }),
    'login-providers-only': loginPage(localized(anonymous), {
      ...login,
      prompts: [],
      links: {},
      providers,
      message: messageFor(texts, 'error', 'invalid_idp'),
    }),
    'login-nothing': loginPage(localized(anonymous), { prompts: [], links: {}, providers: [] }),
    'login-long': loginPage(localized(crowdedAnonymous), {
      prompts: [...prompts, { name: hostile, type: 'number', text: hostile }],
      userName: hostile,
      message: { kind: 'error', text: hostile },
      clientName: hostile,
      links,
      providers: [{ name: hostile, url: 'https://example.org/' }],
    }),
    'rtl-login': loginPage(rightToLeft(anonymous), { ...login, providers }),
    'approval-registered': approvalPage(localized(signedIn), registeredApproval),
    'rtl-approval': approvalPage(rightToLeft(signedIn), approval),
    'rtl-home': homePage(rightToLeft(signedIn), { name: 'marissa', tiles }),
    approval: approvalPage(localized(signedIn), approval),
    'approval-long': approvalPage(localized(crowded), {
      ...approval,
      clientName: hostile,
      userName: hostile,
      redirectUri: `https://${'sub.'.repeat(50)}example.org/`,
      scopes: [
        { name: 'scope.0', value: `scope.${long}`, text: hostile, state: 'undecided' },
        { name: 'scope.1', value: 'scope.openid', text: hostile, state: 'denied' },
      ],
    }),
    'components-in-english': componentsPage(signedIn, png(44, 44, [120, 54, 27])),
    'approval-icon': approvalPage(localized(signedIn), { ...approval, clientIcon: png(44, 44, [120, 54, 27]) }),
    error: errorPage(localized(anonymous), {
      status: 400,
      code: 'invalid_request',
      title: texts.error.titles.other,
      ...describedIn(texts, 'Invalid redirect https://app.example/ did not match one of the registered values'),
      back: { text: texts.error.start, url: '/' },
    }),
    'error-signed-in': errorPage(localized(signedIn), {
      status: 404,
      title: texts.error.titles.notFound,
      ...describedIn(texts, 'The address may be mistyped, or the page has moved.'),
      back: { text: texts.error.start, url: '/' },
    }),
    'error-long': errorPage(localized(crowded), {
      status: 500,
      code: long,
      title: hostile,
      description: hostile.repeat(3),
    }),
    'error-foreign': errorPage(localized(anonymous), {
      status: 400,
      code: 'invalid_request',
      title: texts.error.titles.other,
      ...describedIn(texts, 'Words that only programs are told.'),
    }),
    invitation: invitationPage(localized(anonymous), invitation),
    'invitation-consent': invitationPage(localized({ ...anonymous, branding: consenting }), {
      ...invitation,
      problem: 'missing_consent',
    }),
    'invitation-refused': invitationPage(localized(signedIn), {
      action: invitation.action,
      problem: { password: 'Password must contain at least 2 digit characters.' },
      invitation: { ...invitation.invitation, signedInAs: 'marissa' },
    }),
    'invitation-verified': invitationPage(localized(signedIn), {
      action: invitation.action,
      invitation: { ...invitation.invitation, step: 'agree' },
    }),
    'invitation-directory': invitationPage(localized(anonymous), {
      ...invitation,
      invitation: { ...invitation.invitation, step: 'directory' },
    }),
    'invitation-directory-refused': invitationPage(localized(signedIn), {
      ...invitation,
      problem: 'bad_credentials',
      invitation: { ...invitation.invitation, step: 'directory' },
    }),
    'invitation-expired': invitationPage(localized(anonymous), { action: invitation.action, problem: 'code_expired' }),
    'invitation-long': invitationPage(localized(crowded), {
      ...invitation,
      invitation: { ...invitation.invitation, email: hostile, userName: hostile, signedInAs: hostile },
    }),
    'reference-invitation': invitationPage(reference, invitation),
    'account-choice': accountChoicePage(localized(signedIn), {
      userName: 'marissa',
      continueUrl: '/oauth/authorize?client_id=app',
      signInUrl: '/login',
    }),
    'reference-error': errorPage(reference, {
      title: 'Page not found',
      description: 'The address may be mistyped, or the page has moved.',
      status: 404,
    }),
    'reference-malicious': errorPage(reference, {
      title: 'This request cannot be completed',
      ...describedIn(referenceTexts, referenceTexts.descriptions.malicious),
    }),
    'reference-login': loginPage(reference, {
      ...login,
      message: messageFor(referenceTexts, 'error', 'login_failure'),
    }),
    'reference-approval': approvalPage(referenceSignedIn, approval),
    'reference-home': homePage(referenceSignedIn, { name: 'marissa', tiles }),
    'reference-home-long': homePage(
      { ...crowded, texts: referenceTexts },
      { name: hostile, tiles: [{ name: hostile, url: 'https://example.org/' }] },
    ),
    'force-password-change': forcePasswordChangePage(localized(signedIn), newPassword),
    'force-password-change-refused': forcePasswordChangePage(localized(signedIn), {
      ...newPassword,
      problem: 'Your new password cannot be the same as the old password.',
    }),
    'force-password-change-no-demands': forcePasswordChangePage(localized(signedIn), { ...newPassword, demands: [] }),
    'force-password-change-long': forcePasswordChangePage(localized(crowded), {
      ...newPassword,
      userName: hostile,
      email: hostile,
      problem: hostile,
    }),
    'create-account': createAccountPage(
      { ...localized(anonymous), branding: { consent: { text: 'The terms', link: 'https://x.example/' } } },
      signUp,
    ),
    'create-account-refused': createAccountPage(localized(anonymous), {
      ...signUp,
      email: 'kai',
      problem: 'invalid_email',
    }),
    'create-account-other': createAccountPage(localized(anonymous), { ...signUp, problem: 'other_idp' }),
    'create-account-long': createAccountPage(localized(crowdedAnonymous), {
      ...signUp,
      email: hostile,
      problem: { text: hostile },
    }),
    'create-account-sent': activationSentPage(localized(anonymous), 'kai@shop.example'),
    'create-account-verify': verifyAccountPage(localized(anonymous), {
      code: 'abc',
      email: 'kai@shop.example',
      needsPassword: true,
      isWrong: true,
    }),
    'forgotten-password': forgottenPasswordPage(localized(anonymous), { clientId: 'app', redirectUri: '' }),
    'forgotten-password-expired': forgottenPasswordPage(localized(anonymous), {
      clientId: '',
      redirectUri: '',
      expired: true,
    }),
    'reset-password': resetPasswordPage(localized(anonymous), reset),
    'reset-password-refused': resetPasswordPage(localized(crowdedAnonymous), {
      ...reset,
      userName: hostile,
      email: hostile,
      problem: hostile,
    }),
    'change-password': changePasswordPage(localized(signedIn), { userName: 'kai', demands: reset.demands }),
    'change-password-refused': changePasswordPage(localized(signedIn), {
      userName: 'kai',
      demands: reset.demands,
      problem: 'Please enter a valid current password.',
      isCurrentWrong: true,
    }),
    'change-email': changeEmailPage(localized(signedIn), email),
    'change-email-refused': changeEmailPage(localized(signedIn), { ...email, newEmail: hostile, problem: 'invalid' }),
    'verify-email': verifyEmailPage(localized(signedIn), {
      code: 'abc',
      userName: 'kai',
      email: 'kai@new.example',
      other: 'ann',
    }),
    'email-sent': emailSentPage(localized(anonymous), { code: 'reset_password', typed: 'kai@shop.example' }),
    'email-sent-long': emailSentPage(localized(crowdedAnonymous), { code: 'email_change', typed: hostile }),
    'signed-out': signedOutPage(localized(anonymous), { signInUrl: '/login' }),
    'signed-out-offer': signedOutPage(localized(anonymous), {
      signInUrl: '/login',
      offeredUrl: `https://${'long-name-of-a-host.'.repeat(6)}example/bye`,
    }),
    'logout-confirmation': logoutConfirmationPage(localized(signedIn), {
      action: '/logout.do',
      fields: { client_id: 'app', state: 'abc' },
      userName: 'marissa',
    }),
    'logout-confirmation-long': logoutConfirmationPage(localized(crowded), {
      action: '/logout.do',
      fields: {},
      userName: hostile,
    }),
    'device-code': deviceCodePage(localized(signedIn), { userCode: 'WDJB-MJHT' }),
    'device-code-unknown': deviceCodePage(localized(signedIn), { problem: { kind: 'unknown' } }),
    'device-code-refused': deviceCodePage(localized(crowded), { problem: { kind: 'refused', clientName: hostile } }),
    'device-decision': deviceDecisionPage(localized(signedIn), {
      clientName: 'Photo frame',
      userCode: 'WDJB-MJHT',
      userName: 'marissa',
      address: '192.0.2.7',
      program: 'Firefox on Windows',
      requestedAt: new Date('2026-01-15T12:00:00Z'),
      isSelfRegistered: false,
      scopes: [
        { scope: 'openid', text: 'Know who you are' },
        { scope: 'photos.read', text: 'See your photos' },
      ],
    }),
    'device-decision-long': deviceDecisionPage(localized(crowded), {
      clientName: hostile,
      userCode: 'WDJB-MJHT',
      userName: hostile,
      address: '2001:db8:1234:5678:9abc:def0:1234:5678',
      requestedAt: new Date('2026-01-15T12:00:00Z'),
      isSelfRegistered: true,
      scopes: [
        { scope: hostile, text: hostile },
        { scope: 'photos.read', text: 'See your photos' },
      ],
    }),
    'device-allowed': deviceDonePage(localized(signedIn), { clientName: 'Photo frame', isAllowed: true }),
    'device-denied': deviceDonePage(localized(signedIn), { clientName: 'Photo frame', isAllowed: false }),
    outbox: outboxPage(localized(anonymous), [
      {
        to: 'ann@example.org',
        subject: 'Verify your address',
        text: `Follow the link:\nhttps://id.example.org/verify_user?code=${'x'.repeat(32)}\n\nLatchkey`,
        at: new Date('2026-01-15T12:00:00Z'),
      },
    ]),
    'outbox-long': outboxPage(localized(crowdedAnonymous), [
      { to: hostile, subject: hostile, text: hostile, at: new Date(0) },
    ]),
    'outbox-empty': outboxPage(localized(anonymous), []),
    passcode: passcodePage(localized(signedIn), { passcode: '7K3M-9XQ2-40TB-WZ8E-5HVC' }),
    'reference-passcode': passcodePage(referenceSignedIn, { passcode: 'k3Wq-_0Oo1lIJhV8xZtB5nMCdYeR2sPu' }),
    'passcode-offer': passcodeOfferPage(localized(signedIn)),
    'second-factor-app': provePage(localized(signedIn), { ...factor, choice: 'app', others: ['recovery'] }),
    'second-factor-wrong': provePage(localized(signedIn), {
      ...factor,
      choice: 'app',
      others: ['passkey', 'recovery'],
      problem: factorTexts(texts).prove.wrongCode,
    }),
    'second-factor-passkey': provePage(localized(branded), {
      ...factor,
      choice: 'passkey',
      others: ['app', 'recovery'],
    }),
    'second-factor-recovery': provePage(localized(signedIn), { ...factor, choice: 'recovery', others: ['app'] }),
    'second-factor-stuck': provePage(localized(crowded), { ...factor, choice: 'recovery', others: [], isStuck: true }),
    'second-factor-bypass': provePage(localized(signedIn), {
      ...factor,
      choice: 'recovery',
      others: [],
      isBypass: true,
      back: '/second_factor',
    }),
    'first-factor': enrolPage(localized(signedIn), firstFactor),
    'first-factor-failed': enrolPage(localized(crowded), {
      ...firstFactor,
      isStepUp: true,
      problem: factorTexts(texts).enrol.failedPasskey,
    }),
    'authenticator-app': appPage(localized(signedIn), { ...authenticatorApp }),
    'authenticator-app-wrong': appPage(localized(crowded), {
      ...authenticatorApp,
      problem: factorTexts(texts).enrol.expired,
    }),
    'recovery-codes': recoveryCodesPage(localized(signedIn), { codes, userName: 'marissa', continueUrl: '/' }),
    'recovery-codes-long': recoveryCodesPage(localized(crowded), { codes, userName: hostile, continueUrl: `/${long}` }),
    'passcode-offer-long': passcodeOfferPage(localized(crowded)),
    profile: profilePage(localized(signedIn), profile),
    'profile#revoke-0': profilePage(localized(signedIn), profile),
    'profile-empty': profilePage(localized(signedIn), {
      ...profile,
      clients: [],
      devices: [{ name: 'Firefox on Windows', sessions: [session] }],
      events: [],
      message: profileMessage(texts, 'success', 'session.others_signed_out'),
    }),
    'profile-elsewhere': profilePage(localized(signedIn), externalProfile),
    'profile-elsewhere-long': profilePage(localized(crowded), {
      ...hostileProfile,
      mayChange: { names: false, language: false },
      provider: { name: hostile, origin: long, externalId: hostile },
    }),
    'profile-long': profilePage(localized(crowded), hostileProfile),
    'profile-long#revoke-0': profilePage(localized(crowded), hostileProfile),
    'account-chooser': accountChooserPage(localized(anonymous), {
      accounts: [
        account,
        {
          ...account,
          userId: 'u2',
          userName: 'joel@harbour.example',
          origin: 'directory',
          providerName: 'Harbour directory',
        },
      ],
      clientName: 'Cloud Console',
    }),
    'account-chooser-failed': accountChooserPage(localized(branded), {
      accounts: [account],
      message: messageFor(texts, 'error', 'login_failure'),
    }),
    'account-chooser-long': accountChooserPage(localized(crowdedAnonymous), {
      accounts: [
        { ...account, userName: hostile, origin: long, providerName: hostile, email: hostile, loginHint: hostile },
      ],
      clientName: hostile,
    }),
    ...securityStatesIn(localized(signedIn), localized(crowded), hostile),
    home: homePage(localized(signedIn), { name: 'marissa', tiles }),
    'home-empty': homePage(localized(signedIn), { name: 'marissa', tiles: [] }),
    'home-long': homePage(localized(crowded), {
      name: hostile,
      tiles: [
        { name: hostile, url: 'https://example.org/' },
        { name: long, url: 'https://example.org/' },
      ],
    }),
  }
}

/** The states in English. */
export const states = statesIn('en')
