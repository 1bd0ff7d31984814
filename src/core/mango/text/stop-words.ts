/** Words too common to be looked for, by the name of the analyzer that leaves them out. */

const words = (text: string): readonly string[] => text.split(/\s+/).filter(Boolean)

export const STOP_WORDS: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'english',
    words(`a an and are as at be but by for if in into is it no not of on or such that the their
      then there these they this to was will with`),
  ],
  [
    'french',
    words(`au aux avec ce ces cette dans de des du elle en et est il ils je la le les leur lui ma
      mais me mes moi mon ne nos notre nous on ou par pas pour qu que qui sa se ses son sont sur ta
      te tes toi ton tu un une vos votre vous y à été être`),
  ],
  [
    'german',
    words(`aber als am an auch auf aus bei bin bis da das dass dem den der des die doch du durch ein
      eine einem einen einer eines er es für hat ich ihr im in ist ja mit nach nicht noch nur ob oder
      sich sie sind so über um und uns von vor war was wenn wie wir zu zum zur`),
  ],
  [
    'spanish',
    words(`a al como con de del donde el ella ellas ellos en entre era es esa ese eso esta este esto
      fue ha la las le les lo los me mi mis muy más ni no nos o para pero por que quien se si sin
      sobre son su sus también te tu un una uno y ya yo`),
  ],
  [
    'portuguese',
    words(`a ao aos as com como da das de do dos e ela elas ele eles em entre era essa esse esta este
      eu foi há isso já mais mas me na nas no nos não o os ou para pela pelo por que quem se sem ser
      seu sua são também te tem um uma você à é`),
  ],
  [
    'italian',
    words(`a ad al alla alle anche che chi ci come con da dal dalla de dei del della delle di e ed gli
      ha i il in io la le lei lo loro lui ma mi nel nella noi non o per più quale quando questa questo
      se si sono su sul tra tu un una uno vi voi è`),
  ],
  [
    'dutch',
    words(`aan al als bij dan dat de der deze die dit door een en er had heb het hij hoe ik in is je
      kan me men met mij mijn na naar niet nog nu of om ons ook op over te toen tot u uit uw van veel
      voor was wat we wel werd wie zal ze zich zij zijn zo`),
  ],
  [
    'swedish',
    words(`alla allt att av blev de dem den denna det dig din du där då efter ej eller en er ett från
      för ha hade han har hon hur här i icke in inte jag kan man med mig min mot mycket nu när någon
      och om oss på sig sin ska som så till under upp ut vad var vi vid är över`),
  ],
])
