// The words of the page where users manage their second factors, and of the page that offers a passkey, in each language.
// Apart from the other texts, so that they are loaded with the page.
import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'
import type { Texts } from './texts.ts'

/** Confirmations, by the parameter `done` of the page. */
export type SecurityDone = 'passkey_added' | 'app_added' | 'renamed' | 'removed' | 'forgotten'

/** The words of these pages. */
interface SecurityTexts {
  readonly title: string
  readonly lead: string
  readonly secondStep: string
  readonly manage: string
  /** Where the user has no second factor. */
  readonly off: string
  readonly passkeys: string
  readonly passkeysLead: string
  readonly app: string
  readonly codes: string
  readonly codesLead: string
  readonly renewCodes: string
  readonly devices: string
  readonly devicesLead: string
  readonly forget: string
  readonly rename: string
  readonly replace: string
  readonly remove: string
  /** For a factor that does not count under the policy of the zone. */
  readonly ignored: string
  readonly name: string
  readonly nameHint: string
  readonly add: string
  readonly save: string
  readonly cancel: string
  readonly renameHeading: string
  readonly removePasskey: string
  readonly removeApp: string
  readonly removeAppLead: string
  readonly lastLead: string
  readonly lastNeeded: string
  readonly renewHeading: string
  readonly renewLead: string
  readonly renew: string
  readonly back: string
  readonly badName: string
  readonly tooMany: string
  readonly unknown: string
  readonly removePasskeyLead: (name: Html) => Html
  readonly codesLeft: (left: number, all: number) => string
  readonly added: (ago: Html) => Html
  readonly lastUsed: (ago: Html) => Html
  readonly neverUsed: string
  readonly made: (ago: Html) => Html
  readonly done: Readonly<Record<SecurityDone, string>>
  readonly offer: {
    readonly title: string
    readonly heading: string
    readonly lead: string
    readonly decline: string
    readonly later: string
  }
}

const en: SecurityTexts = {
  title: 'Sign-in security',
  lead: 'With a second step, a stolen password is not enough to sign in as you.',
  secondStep: 'Second step',
  manage: 'Manage',
  off: 'Off',
  passkeys: 'Passkeys',
  passkeysLead:
    'Your fingerprint, your face, the lock of your screen or a security key. A passkey works only on this site: a fake one gets nothing.',
  app: 'Authenticator app',
  codes: 'Recovery codes',
  codesLead: 'Each lets you in once when your device is lost. Keep them apart from it.',
  renewCodes: 'Make new codes',
  devices: 'Remembered devices',
  devicesLead: 'On these you need no second step for a while.',
  forget: 'Ask on all devices again',
  rename: 'Rename',
  replace: 'Replace',
  remove: 'Remove',
  ignored: 'Not accepted at the moment',
  name: 'Name',
  nameHint: 'To recognize it later: the name of the device, for example.',
  add: 'Add passkey',
  save: 'Save',
  cancel: 'Cancel',
  renameHeading: 'Rename the passkey',
  removePasskey: 'Remove this passkey?',
  removeApp: 'Remove the authenticator app?',
  removeAppLead: 'Its codes will no longer be accepted.',
  lastLead: 'It is your last one: from then on your password alone lets you in, and your recovery codes end.',
  lastNeeded: 'You need a second step here, and this is the only one you have. Add another one first.',
  renewHeading: 'Make new recovery codes?',
  renewLead: 'Those that you have will no longer be accepted.',
  renew: 'Make new codes',
  back: 'Back to sign-in security',
  badName: 'Enter a name of at most 64 characters, without line breaks.',
  tooMany: 'You have 20 passkeys, and there can be no more. Remove one first.',
  unknown: 'It is no longer there.',
  removePasskeyLead: name => html`${name} will no longer be accepted. Delete it on your device, too.`,
  codesLeft: (left, all) => (left === 0 ? 'None left' : `${left} of ${all} left`),
  added: ago => html`Added ${ago}`,
  lastUsed: ago => html`last used ${ago}`,
  neverUsed: 'not used yet',
  made: ago => html`Made ${ago}`,
  done: {
    passkey_added: 'The passkey was added.',
    app_added: 'The authenticator app was set up.',
    renamed: 'The passkey has its new name.',
    removed: 'It was removed.',
    forgotten: 'All devices are asked again.',
  },
  offer: {
    title: 'Passkey',
    heading: 'Sign in more easily next time',
    lead: 'With a passkey, your fingerprint, your face or the lock of your screen is enough. It is safer than a password.',
    decline: 'Not now',
    later: 'You can add one later in your account.',
  },
}

const de: SecurityTexts = {
  title: 'Anmeldesicherheit',
  lead: 'Mit einem zweiten Schritt genügt ein gestohlenes Passwort nicht, um sich als Sie anzumelden.',
  secondStep: 'Zweiter Schritt',
  manage: 'Verwalten',
  off: 'Aus',
  passkeys: 'Passkeys',
  passkeysLead:
    'Ihr Fingerabdruck, Ihr Gesicht, Ihre Bildschirmsperre oder ein Sicherheitsschlüssel. Ein Passkey funktioniert nur auf dieser Website: Eine gefälschte bekommt nichts.',
  app: 'Authentifizierungs-App',
  codes: 'Wiederherstellungs\u00adcodes',
  codesLead: 'Jeder lässt Sie einmal ein, wenn Ihr Gerät verloren ist. Bewahren Sie sie getrennt davon auf.',
  renewCodes: 'Neue Codes erstellen',
  devices: 'Gemerkte Geräte',
  devicesLead: 'Auf diesen brauchen Sie eine Zeit lang keinen zweiten Schritt.',
  forget: 'Auf allen Geräten wieder fragen',
  rename: 'Umbenennen',
  replace: 'Ersetzen',
  remove: 'Entfernen',
  ignored: 'Gilt zurzeit nicht',
  name: 'Name',
  nameHint: 'Woran Sie ihn erkennen, zum Beispiel das Gerät, auf dem er liegt.',
  add: 'Passkey hinzufügen',
  save: 'Speichern',
  cancel: 'Abbrechen',
  renameHeading: 'Passkey umbenennen',
  removePasskey: 'Diesen Passkey entfernen?',
  removeApp: 'Authentifizierungs-App entfernen?',
  removeAppLead: 'Ihre Codes werden dann nicht mehr angenommen.',
  lastLead: 'Es ist der letzte: Danach genügt Ihr Passwort allein, und Ihre Wiederherstellungscodes gelten nicht mehr.',
  lastNeeded:
    'Sie brauchen hier einen zweiten Schritt, und das ist Ihr einziger. Fügen Sie zuerst einen anderen hinzu.',
  renewHeading: 'Neue Codes erstellen?',
  renewLead: 'Die bisherigen Wiederherstellungscodes werden dann nicht mehr angenommen.',
  renew: 'Neue Codes erstellen',
  back: 'Zurück zur Anmeldesicherheit',
  badName: 'Geben Sie einen Namen mit höchstens 64 Zeichen ohne Zeilenumbrüche ein.',
  tooMany: 'Sie haben 20 Passkeys, mehr sind nicht möglich. Entfernen Sie zuerst einen.',
  unknown: 'Das gibt es nicht mehr.',
  removePasskeyLead: name => html`${name} wird dann nicht mehr angenommen. Löschen Sie ihn auch auf Ihrem Gerät.`,
  codesLeft: (left, all) => (left === 0 ? 'Keine mehr übrig' : `Noch ${left} von ${all}`),
  added: ago => html`Hinzugefügt ${ago}`,
  lastUsed: ago => html`zuletzt verwendet ${ago}`,
  neverUsed: 'noch nicht verwendet',
  made: ago => html`Erstellt ${ago}`,
  done: {
    passkey_added: 'Der Passkey wurde hinzugefügt.',
    app_added: 'Die Authentifizierungs-App wurde eingerichtet.',
    renamed: 'Der Passkey hat seinen neuen Namen.',
    removed: 'Es wurde entfernt.',
    forgotten: 'Alle Geräte werden wieder gefragt.',
  },
  offer: {
    title: 'Passkey',
    heading: 'Nächstes Mal einfacher anmelden',
    lead: 'Mit einem Passkey genügt Ihr Fingerabdruck, Ihr Gesicht oder Ihre Bildschirmsperre. Er ist sicherer als ein Passwort.',
    decline: 'Nicht jetzt',
    later: 'Sie können ihn später in Ihrem Konto hinzufügen.',
  },
}

const fr: SecurityTexts = {
  title: 'Sécurité de la connexion',
  lead: 'Avec une deuxième étape, un mot de passe volé ne suffit pas pour se connecter à votre place.',
  secondStep: 'Deuxième étape',
  manage: 'Gérer',
  off: 'Désactivée',
  passkeys: 'Clés d’accès',
  passkeysLead:
    'Votre empreinte, votre visage, le verrouillage de votre écran ou une clé de sécurité. Une clé d’accès ne fonctionne que sur ce site\u00a0: un faux site n’obtient rien.',
  app: 'Application d’authentification',
  codes: 'Codes de secours',
  codesLead: 'Chacun vous laisse entrer une fois si votre appareil est perdu. Conservez-les séparément.',
  renewCodes: 'Créer de nouveaux codes',
  devices: 'Appareils mémorisés',
  devicesLead: 'Sur ceux-ci, aucune deuxième étape n’est nécessaire pendant un certain temps.',
  forget: 'Redemander sur tous les appareils',
  rename: 'Renommer',
  replace: 'Remplacer',
  remove: 'Supprimer',
  ignored: 'Non acceptée pour le moment',
  name: 'Nom',
  nameHint: 'Pour la reconnaître\u00a0: l’appareil qui la conserve, par exemple.',
  add: 'Ajouter la clé d’accès',
  save: 'Enregistrer',
  cancel: 'Annuler',
  renameHeading: 'Renommer la clé d’accès',
  removePasskey: 'Supprimer cette clé d’accès\u202f?',
  removeApp: 'Supprimer l’application d’authentification\u202f?',
  removeAppLead: 'Ses codes ne seront plus acceptés.',
  lastLead:
    'C’est la dernière\u00a0: ensuite, votre mot de passe seul suffira, et vos codes de secours ne seront plus valables.',
  lastNeeded: 'Une deuxième étape est obligatoire ici, et c’est la seule que vous avez. Ajoutez-en d’abord une autre.',
  renewHeading: 'Créer de nouveaux codes de secours\u202f?',
  renewLead: 'Ceux que vous avez ne seront plus acceptés.',
  renew: 'Créer de nouveaux codes',
  back: 'Retour à la sécurité de la connexion',
  badName: 'Saisissez un nom de 64 caractères au plus, sans saut de ligne.',
  tooMany: 'Vous avez 20 clés d’accès, le maximum. Supprimez-en d’abord une.',
  unknown: 'Cet élément n’existe plus.',
  removePasskeyLead: name => html`${name} ne sera plus acceptée. Supprimez-la aussi de votre appareil.`,
  codesLeft: (left, all) => (left === 0 ? 'Il n’en reste aucun' : `Il en reste ${left} sur ${all}`),
  added: ago => html`Ajoutée ${ago}`,
  lastUsed: ago => html`dernière utilisation ${ago}`,
  neverUsed: 'pas encore utilisée',
  made: ago => html`Créés ${ago}`,
  done: {
    passkey_added: 'La clé d’accès a été ajoutée.',
    app_added: 'L’application d’authentification a été configurée.',
    renamed: 'La clé d’accès a son nouveau nom.',
    removed: 'La suppression est faite.',
    forgotten: 'La question sera posée sur tous les appareils.',
  },
  offer: {
    title: 'Clé d’accès',
    heading: 'Connectez-vous plus facilement la prochaine fois',
    lead: 'Avec une clé d’accès, votre empreinte, votre visage ou le verrouillage de votre écran suffit. C’est plus sûr qu’un mot de passe.',
    decline: 'Pas maintenant',
    later: 'Vous pourrez en ajouter une plus tard dans votre compte.',
  },
}

const es: SecurityTexts = {
  title: 'Seguridad del inicio de sesión',
  lead: 'Con un segundo paso, una contraseña robada no basta para entrar en su lugar.',
  secondStep: 'Segundo paso',
  manage: 'Gestionar',
  off: 'Desactivado',
  passkeys: 'Claves de acceso',
  passkeysLead:
    'Su huella, su cara, el bloqueo de su pantalla o una llave de seguridad. Una clave de acceso solo funciona en este sitio: uno falso no obtiene nada.',
  app: 'Aplicación de autenticación',
  codes: 'Códigos de recuperación',
  codesLead: 'Cada uno le deja entrar una vez si pierde su dispositivo. Guárdelos aparte.',
  renewCodes: 'Crear códigos nuevos',
  devices: 'Dispositivos recordados',
  devicesLead: 'En ellos no necesita un segundo paso durante un tiempo.',
  forget: 'Preguntar de nuevo en todos',
  rename: 'Cambiar nombre',
  replace: 'Sustituir',
  remove: 'Eliminar',
  ignored: 'No se acepta por ahora',
  name: 'Nombre',
  nameHint: 'Para reconocerla: por ejemplo, el dispositivo que la guarda.',
  add: 'Añadir la clave de acceso',
  save: 'Guardar',
  cancel: 'Cancelar',
  renameHeading: 'Cambiar el nombre de la clave de acceso',
  removePasskey: '¿Eliminar esta clave de acceso?',
  removeApp: '¿Eliminar la aplicación de autenticación?',
  removeAppLead: 'Sus códigos dejarán de aceptarse.',
  lastLead: 'Es la última: después bastará con su contraseña, y sus códigos de recuperación dejarán de servir.',
  lastNeeded: 'Aquí necesita un segundo paso, y este es el único que tiene. Añada otro primero.',
  renewHeading: '¿Crear códigos de recuperación nuevos?',
  renewLead: 'Los que tiene dejarán de aceptarse.',
  renew: 'Crear códigos nuevos',
  back: 'Volver a la seguridad del inicio de sesión',
  badName: 'Escriba un nombre de 64 caracteres como máximo, sin saltos de línea.',
  tooMany: 'Tiene 20 claves de acceso, el máximo. Elimine una primero.',
  unknown: 'Ya no existe.',
  removePasskeyLead: name => html`${name} dejará de aceptarse. Elimínela también en su dispositivo.`,
  codesLeft: (left, all) => (left === 0 ? 'No queda ninguno' : `${left === 1 ? 'Queda' : 'Quedan'} ${left} de ${all}`),
  added: ago => html`Añadida ${ago}`,
  lastUsed: ago => html`usada por última vez ${ago}`,
  neverUsed: 'aún sin usar',
  made: ago => html`Creados ${ago}`,
  done: {
    passkey_added: 'Se añadió la clave de acceso.',
    app_added: 'Se configuró la aplicación de autenticación.',
    renamed: 'La clave de acceso tiene su nuevo nombre.',
    removed: 'Se eliminó.',
    forgotten: 'Se preguntará de nuevo en todos los dispositivos.',
  },
  offer: {
    title: 'Clave de acceso',
    heading: 'Inicie sesión más fácilmente la próxima vez',
    lead: 'Con una clave de acceso basta su huella, su cara o el bloqueo de su pantalla. Es más segura que una contraseña.',
    decline: 'Ahora no',
    later: 'Puede añadir una más tarde en su cuenta.',
  },
}

const ja: SecurityTexts = {
  title: 'サインインのセキュリティ',
  lead: '2段階目の確認があれば、パスワードが盗まれてもそれだけではサインインできません。',
  secondStep: '2段階目の確認',
  manage: '管理',
  off: 'オフ',
  passkeys: 'パスキー',
  passkeysLead:
    '指紋、顔、画面ロック、またはセキュリティキーを使用します。パスキーはこのサイトでしか使えず、偽のサイトに渡ることはありません。',
  app: '認証アプリ',
  codes: 'リカバリーコード',
  codesLead: 'デバイスを失ったとき、各コードで1回だけサインインできます。デバイスとは別に保管してください。',
  renewCodes: '新しいコードを作成',
  devices: '記憶されたデバイス',
  devicesLead: 'これらのデバイスでは、しばらくの間2段階目の確認は必要ありません。',
  forget: 'すべてのデバイスで再び確認する',
  rename: '名前を変更',
  replace: '置き換え',
  remove: '削除',
  ignored: '現在は使えません',
  name: '名前',
  nameHint: '見分けるための名前です。保存先のデバイス名など。',
  add: 'パスキーを追加',
  save: '保存',
  cancel: 'キャンセル',
  renameHeading: 'パスキーの名前を変更',
  removePasskey: 'このパスキーを削除しますか？',
  removeApp: '認証アプリを削除しますか？',
  removeAppLead: 'このアプリのコードは使えなくなります。',
  lastLead: 'これが最後の確認方法です。削除後はパスワードだけでサインインでき、リカバリーコードも使えなくなります。',
  lastNeeded: 'ここでは2段階目の確認が必要で、これが唯一の方法です。先に別の方法を追加してください。',
  renewHeading: '新しいリカバリーコードを作成しますか？',
  renewLead: '今お持ちのコードは使えなくなります。',
  renew: '新しいコードを作成',
  back: 'サインインのセキュリティに戻る',
  badName: '改行を含まない64文字以内の名前を入力してください。',
  tooMany: 'パスキーは20個までです。先に1つ削除してください。',
  unknown: 'すでに存在しません。',
  removePasskeyLead: name => html`${name}は使えなくなります。デバイスからも削除してください。`,
  codesLeft: (left, all) => (left === 0 ? '残っていません' : `${all}個中${left}個が残っています`),
  added: ago => html`追加: ${ago}`,
  lastUsed: ago => html`最終使用: ${ago}`,
  neverUsed: '未使用',
  made: ago => html`作成: ${ago}`,
  done: {
    passkey_added: 'パスキーを追加しました。',
    app_added: '認証アプリを設定しました。',
    renamed: 'パスキーの名前を変更しました。',
    removed: '削除しました。',
    forgotten: 'すべてのデバイスで再び確認します。',
  },
  offer: {
    title: 'パスキー',
    heading: '次回から簡単にサインイン',
    lead: 'パスキーがあれば、指紋、顔、または画面ロックだけでサインインできます。パスワードより安全です。',
    decline: '後で',
    later: '後からアカウントの設定で追加できます。',
  },
}

const zh: SecurityTexts = {
  title: '登录安全',
  lead: '有了第二步，仅凭被盗的密码无法以您的身份登录。',
  secondStep: '第二步',
  manage: '管理',
  off: '关闭',
  passkeys: '通行密钥',
  passkeysLead: '您的指纹、面容、屏幕锁或安全密钥。通行密钥只能在本网站使用，假冒网站什么也得不到。',
  app: '身份验证器应用',
  codes: '恢复代码',
  codesLead: '设备丢失时，每个代码可让您登录一次。请与设备分开保存。',
  renewCodes: '生成新代码',
  devices: '已记住的设备',
  devicesLead: '在这些设备上，一段时间内无需第二步。',
  forget: '在所有设备上重新询问',
  rename: '重命名',
  replace: '更换',
  remove: '移除',
  ignored: '目前不被接受',
  name: '名称',
  nameHint: '便于识别的名称，例如保存它的设备。',
  add: '添加通行密钥',
  save: '保存',
  cancel: '取消',
  renameHeading: '重命名通行密钥',
  removePasskey: '移除此通行密钥？',
  removeApp: '移除身份验证器应用？',
  removeAppLead: '其验证码将不再被接受。',
  lastLead: '这是最后一个：此后仅凭密码即可登录，您的恢复代码也将失效。',
  lastNeeded: '此处需要第二步，而这是您唯一的方式。请先添加另一个。',
  renewHeading: '生成新的恢复代码？',
  renewLead: '您现有的代码将不再被接受。',
  renew: '生成新代码',
  back: '返回登录安全',
  badName: '请输入不超过 64 个字符且不含换行的名称。',
  tooMany: '您已有 20 个通行密钥，不能再添加。请先移除一个。',
  unknown: '它已不存在。',
  removePasskeyLead: name => html`${name} 将不再被接受。请同时在您的设备上删除它。`,
  codesLeft: (left, all) => (left === 0 ? '已用完' : `剩余 ${left}/${all} 个`),
  added: ago => html`添加于 ${ago}`,
  lastUsed: ago => html`上次使用于 ${ago}`,
  neverUsed: '尚未使用',
  made: ago => html`生成于 ${ago}`,
  done: {
    passkey_added: '通行密钥已添加。',
    app_added: '身份验证器应用已设置。',
    renamed: '通行密钥已重命名。',
    removed: '已移除。',
    forgotten: '所有设备将重新询问。',
  },
  offer: {
    title: '通行密钥',
    heading: '下次更轻松地登录',
    lead: '有了通行密钥，只需您的指纹、面容或屏幕锁。它比密码更安全。',
    decline: '以后再说',
    later: '您以后可以在账号中添加。',
  },
}

const LANGUAGES: Readonly<Record<string, SecurityTexts>> = { en, de, fr, es, ja, zh }

/** In the language of the page's other texts. */
export const securityTexts = ({ tag }: Pick<Texts, 'tag'>): SecurityTexts => LANGUAGES[tag.slice(0, 2)] ?? en
