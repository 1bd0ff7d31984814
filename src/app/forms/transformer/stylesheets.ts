/**
 * Stylesheets of ours around the two of enketo-transformer, which leaves part of its work to a browser's document. All of
 * it is done by the same XSLT processor here: what forms look like before (`PREPARE`) and after (`FINISH`) the main
 * transformation, and what a form says about itself (`DESCRIBE`, `ANNOTATIONS`).
 *
 * No stylesheet evaluates an expression that a form brings along.
 */
const HEAD = `xmlns:xsl="http://www.w3.org/1999/XSL/Transform" version="1.0"
  xmlns:xf="http://www.w3.org/2002/xforms" xmlns:h="http://www.w3.org/1999/xhtml"
  xmlns:str="http://exslt.org/strings" xmlns:exsl="http://exslt.org/common"
  exclude-result-prefixes="xf h str exsl"`

const INSTANCE = '/h:html/h:head/xf:model/xf:instance'

/** Choices that come from an instance of the form get what the main stylesheet reads: references, and their labels. */
export const PREPARE = `<xsl:stylesheet ${HEAD}>
  <xsl:output method="xml"/>
  <xsl:template match="@*|node()">
    <xsl:copy><xsl:apply-templates select="@*|node()"/></xsl:copy>
  </xsl:template>
  <xsl:template match="processing-instruction()|comment()"/>
  <xsl:template match="xf:itemset">
    <xsl:variable name="label" select="string(xf:label/@ref)"/>
    <xsl:copy>
      <xsl:apply-templates select="@*"/>
      <xsl:attribute name="valueRef"><xsl:value-of select="xf:value/@ref"/></xsl:attribute>
      <xsl:attribute name="labelRef"><xsl:value-of select="$label"/></xsl:attribute>
      <xsl:apply-templates select="node()"/>
      <xsl:if test="contains($label, 'itext(')">
        <xsl:variable name="id" select="normalize-space(
          substring-before(substring-after(@nodeset, 'instance('), ')'))"/>
        <xsl:variable name="path">
          <xsl:call-template name="without-filters">
            <xsl:with-param name="text" select="substring-after(@nodeset, ')')"/>
          </xsl:call-template>
        </xsl:variable>
        <xsl:call-template name="labels">
          <xsl:with-param name="nodes" select="${INSTANCE}[
            @id = substring($id, 2, string-length($id) - 2)]"/>
          <xsl:with-param name="path" select="normalize-space(
            substring-before(concat(translate($path, '),', ',,'), ','), ','))"/>
          <xsl:with-param name="name" select="substring-before(
            substring-after($label, 'itext('), ')')"/>
        </xsl:call-template>
      </xsl:if>
    </xsl:copy>
  </xsl:template>
  <xsl:template name="without-filters">
    <xsl:param name="text"/>
    <xsl:choose>
      <xsl:when test="contains($text, '[')">
        <xsl:value-of select="substring-before($text, '[')"/>
        <xsl:call-template name="without-filters">
          <xsl:with-param name="text" select="substring-after(substring-after($text, '['), ']')"/>
        </xsl:call-template>
      </xsl:when>
      <xsl:otherwise><xsl:value-of select="$text"/></xsl:otherwise>
    </xsl:choose>
  </xsl:template>
  <xsl:template name="labels">
    <xsl:param name="nodes"/>
    <xsl:param name="path"/>
    <xsl:param name="name"/>
    <xsl:variable name="step" select="substring-before(concat($path, '/'), '/')"/>
    <xsl:choose>
      <xsl:when test="$path = ''"><xsl:copy-of select="$nodes/*[name() = $name]"/></xsl:when>
      <xsl:when test="$step = ''">
        <xsl:call-template name="labels">
          <xsl:with-param name="nodes" select="$nodes"/>
          <xsl:with-param name="path" select="substring-after($path, '/')"/>
          <xsl:with-param name="name" select="$name"/>
        </xsl:call-template>
      </xsl:when>
      <xsl:otherwise>
        <xsl:call-template name="labels">
          <xsl:with-param name="nodes" select="$nodes/*[local-name() = $step]"/>
          <xsl:with-param name="path" select="substring-after($path, '/')"/>
          <xsl:with-param name="name" select="$name"/>
        </xsl:call-template>
      </xsl:otherwise>
    </xsl:choose>
  </xsl:template>
</xsl:stylesheet>`

/** Classes of appearances: one for each word, some of selects have another one beside it. */
const APPEARANCES = `<xsl:template name="appearances">
    <xsl:variable name="is-select" select="boolean(@data-appearances-select-type)"/>
    <xsl:for-each select="str:tokenize(translate(@data-appearances,
      'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'))">
      <xsl:value-of select="concat(' or-appearance-', .)"/>
      <xsl:if test="$is-select">
        <xsl:choose>
          <xsl:when test=". = 'horizontal'"> or-appearance-columns</xsl:when>
          <xsl:when test=". = 'horizontal-compact'"> or-appearance-columns-pack</xsl:when>
          <xsl:when test=". = 'compact'"
            > or-appearance-columns-pack or-appearance-no-buttons</xsl:when>
          <xsl:when test="starts-with(., 'compact-')">
            <xsl:value-of select="concat(' ', substring-after(., 'compact-'))"/>
            <xsl:text> or-appearance-no-buttons</xsl:text>
          </xsl:when>
        </xsl:choose>
      </xsl:if>
    </xsl:for-each>
  </xsl:template>`

const action = (name: string): string => `
  <xsl:key name="${name}" use="@name" match="label[contains(@class, '${name} ')][
    not(ancestor::*[contains(@class, 'question')])]/input[@data-${name}]"/>
  <xsl:template match="label[contains(@class, '${name} ')][input[@data-${name}]]">
    <xsl:choose>
      <xsl:when test="ancestor::*[contains(@class, 'question')]">
        <xsl:apply-templates select="input"/>
      </xsl:when>
      <xsl:when test="key('questions', input/@name)"/>
      <xsl:otherwise><xsl:call-template name="element"/></xsl:otherwise>
    </xsl:choose>
  </xsl:template>`

const actionAttributes = (name: string): string => `
      <xsl:for-each select="key('${name}', @name)[last()]">
        <xsl:copy-of select="@data-${name}|@data-event"/>
      </xsl:for-each>`

/**
 * The page of a form after the main transformation. Texts that are Markdown stand between processing instructions with a
 * name that nobody can guess (`mark`), and so do the values inside them.
 */
export const FINISH = `<xsl:stylesheet ${HEAD}>
  <xsl:output method="html" encoding="UTF-8" indent="no"/>
  <xsl:param name="mark"/>
  <xsl:param name="annotations"/>
  <xsl:variable name="notes">
    <xsl:for-each select="str:tokenize($annotations, ' ')">
      <note path="{str:decode-uri(substring-before(., '|'))}"
        name="{str:decode-uri(substring-before(substring-after(., '|'), '|'))}"
        value="{str:decode-uri(substring-after(substring-after(., '|'), '|'))}"/>
    </xsl:for-each>
  </xsl:variable>
  <xsl:key name="questions" use="@name" match="*[@name][not(@type = 'hidden')][
    contains(../@class, 'question') or contains(../../@class, 'option-wrapper')]"/>
  ${action('setvalue')}
  ${action('setgeopoint')}
  <xsl:template match="/"><xsl:apply-templates select="root/form"/></xsl:template>
  <xsl:template match="*" name="element">
    <xsl:element name="{local-name()}">
      <xsl:call-template name="attributes"/>
      <xsl:apply-templates/>
    </xsl:element>
  </xsl:template>
  <xsl:template match="comment()"><xsl:copy/></xsl:template>
  <xsl:template match="processing-instruction()"/>
  <xsl:template name="attributes">
    <xsl:apply-templates select="@*"/>
    <xsl:if test="@name and generate-id() = generate-id(key('questions', @name)[1])">
      ${actionAttributes('setvalue')}
      ${actionAttributes('setgeopoint')}
    </xsl:if>
    <xsl:if test="$annotations != '' and contains(concat(' ', @class, ' '), ' question ')">
      <xsl:variable name="path" select="string(descendant::*[@name][1]/@name)"/>
      <xsl:for-each select="exsl:node-set($notes)/note[@path = $path]">
        <xsl:attribute name="data-{@name}"><xsl:value-of select="@value"/></xsl:attribute>
      </xsl:for-each>
    </xsl:if>
  </xsl:template>
  <xsl:template match="@*">
    <xsl:attribute name="{name()}"><xsl:value-of select="."/></xsl:attribute>
  </xsl:template>
  <xsl:template match="@data-appearances|@data-appearances-select-type"/>
  <xsl:template match="@src[starts-with(., 'jr://')]">
    <xsl:attribute name="data-media-src"><xsl:value-of select="substring(., 6)"/></xsl:attribute>
  </xsl:template>
  <xsl:template match="input/@type[. = 'error']">
    <xsl:attribute name="type">
      <xsl:choose>
        <xsl:when test="../@data-type-xml = 'tel'">tel</xsl:when>
        <xsl:otherwise>text</xsl:otherwise>
      </xsl:choose>
    </xsl:attribute>
  </xsl:template>
  <xsl:template match="@class[../@data-appearances]">
    <xsl:variable name="appearances">
      <xsl:for-each select=".."><xsl:call-template name="appearances"/></xsl:for-each>
    </xsl:variable>
    <xsl:variable name="classes">
      <xsl:for-each select="str:tokenize(.)">
        <xsl:choose>
          <xsl:when test=". = 'or-appearances-placeholder'">
            <xsl:value-of select="$appearances"/>
          </xsl:when>
          <xsl:otherwise><xsl:value-of select="concat(' ', .)"/></xsl:otherwise>
        </xsl:choose>
      </xsl:for-each>
    </xsl:variable>
    <xsl:attribute name="class"><xsl:value-of select="normalize-space($classes)"/></xsl:attribute>
  </xsl:template>
  ${APPEARANCES}
  <xsl:template match="span[contains(@class, 'question-label') or contains(@class, 'or-hint')]">
    <span>
      <xsl:call-template name="attributes"/>
      <xsl:processing-instruction name="{$mark}-text"/>
      <xsl:apply-templates mode="markdown"/>
      <xsl:processing-instruction name="{$mark}-end"/>
    </span>
  </xsl:template>
  <xsl:template match="*" mode="markdown">
    <xsl:processing-instruction name="{$mark}-value"/>
    <xsl:call-template name="element"/>
    <xsl:processing-instruction name="{$mark}-over"/>
  </xsl:template>
</xsl:stylesheet>`

/** Id, version and title, each encoded as in a URL, a line each; the version begins with \`=\` where there is one. */
export const DESCRIBE = `<xsl:stylesheet ${HEAD}>
  <xsl:output method="text"/>
  <xsl:template match="/">
    <xsl:for-each select="(${INSTANCE}/*)[1]">
      <xsl:choose>
        <xsl:when test="@id"><xsl:value-of select="str:encode-uri(@id, true())"/></xsl:when>
        <xsl:otherwise><xsl:value-of select="str:encode-uri(name(), true())"/></xsl:otherwise>
      </xsl:choose>
      <xsl:text>&#10;</xsl:text>
      <xsl:if test="@version">=<xsl:value-of select="str:encode-uri(@version, true())"/></xsl:if>
      <xsl:text>&#10;</xsl:text>
      <xsl:value-of select="str:encode-uri(string(/h:html/h:head/h:title), true())"/>
    </xsl:for-each>
  </xsl:template>
</xsl:stylesheet>`

/** Attributes of the main instance that are meant for questions: path, name and value, encoded, between bars. */
export const ANNOTATIONS = `<xsl:stylesheet ${HEAD}>
  <xsl:output method="text"/>
  <xsl:template match="/">
    <xsl:for-each select="${INSTANCE}[1]//@*[starts-with(name(), 'cht:')]">
      <xsl:variable name="path">
        <xsl:for-each select="ancestor::*[ancestor::xf:instance]">/<xsl:value-of
          select="name()"/></xsl:for-each>
      </xsl:variable>
      <xsl:value-of select="concat(str:encode-uri(string($path), true()), '|cht-', local-name(),
        '|', str:encode-uri(., true()), ' ')"/>
    </xsl:for-each>
  </xsl:template>
</xsl:stylesheet>`
