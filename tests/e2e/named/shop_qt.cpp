// SPDX-License-Identifier: MIT OR Apache-2.0
// Qt's containers, strings, objects and signals: whose they are.
#include <QByteArray>
#include <QCoreApplication>
#include <QHash>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMap>
#include <QObject>
#include <QRegularExpression>
#include <QStringList>
#include <QVariant>
#include <QVector>
#include <cstdlib>

#define WORKS __attribute__((noinline))

namespace shop
{
WORKS QStringList readNames(int n)
{
	QStringList names;

	for (int i = 0; i < n; i++)
		names << QString("the name of item %1").arg(i);
	return names;
}

WORKS QHash<QString, int> indexNames(const QStringList &names)
{
	QHash<QString, int> index;

	for (int i = 0; i < names.size(); i++)
		index.insert(names[i].toUpper(), i);
	return index;
}

WORKS QVector<double> readFigures(int n)
{
	QVector<double> figures;

	for (int i = 0; i < n; i++)
		figures.append(i);
	return figures;
}

WORKS QMap<int, QByteArray> fillPages(int n)
{
	QMap<int, QByteArray> pages;

	for (int i = 0; i < n; i++)
		pages.insert(i, QByteArray(4096 + i, 'x'));
	return pages;
}

WORKS QObject *buildTree(int n)
{
	auto *root = new QObject;

	for (int i = 0; i < n; i++)
		(new QObject(root))->setObjectName(QString::number(i));
	return root;
}

WORKS QByteArray writeJson(const QStringList &names)
{
	QJsonArray all;

	for (auto &n : names)
		all.append(QJsonObject{ { "name", n }, { "size", n.size() } });
	return QJsonDocument(all).toJson();
}

WORKS QVariantList makeVariants(const QStringList &names)
{
	QVariantList all;

	for (auto &n : names)
		all << QVariant(QStringList{ n, n.toLower() });
	return all;
}
} // namespace shop

int main(int argc, char **argv)
{
	QCoreApplication application(argc, argv);
	auto names = shop::readNames(2000);
	auto index = shop::indexNames(names);
	auto figures = shop::readFigures(30000);
	auto pages = shop::fillPages(100);
	auto *tree = shop::buildTree(500);
	auto json = shop::writeJson(names);
	auto variants = shop::makeVariants(names);

	std::_Exit(!(index.size() && figures.size() && pages.size() && tree && json.size() &&
		     variants.size()));
}
